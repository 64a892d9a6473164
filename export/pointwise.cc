// Functions of one element, each as layers/pointwise_inline.h defines it.

#include "layers/pointwise.h"

#include "core/config/net.pb.h"
#include "export/layer_writer.h"
#include "layers/activation.h"

namespace gf {
namespace {

const Pointwise& FunctionOf(const LayerWriter& w) { return w.As<PointwiseLayer>().function(); }

// One node without settings.
template <const char* kOp>
void ConvertNode(LayerWriter* w) {
  w->SetTop(w->Node(kOp, {w->Input()}));
}

constexpr char kAbs[] = "Abs", kSigmoid[] = "Sigmoid", kSoftplus[] = "Softplus", kTanh[] = "Tanh";

void ConvertRelu(LayerWriter* w) {
  const float slope = w->As<ReluLayer>().negative_slope();
  if (slope == 0) return w->SetTop(w->Node("Relu", {w->Input()}));
  w->SetTop(w->Node("LeakyRelu", {w->Input()}, {FloatAttribute("alpha", slope)}));
}

void ConvertElu(LayerWriter* w) {
  w->SetTop(w->Node("Elu", {w->Input()}, {FloatAttribute("alpha", FunctionOf(*w).a)}));
}

void ConvertClip(LayerWriter* w) {
  const Pointwise& f = FunctionOf(*w);
  w->SetTop(w->Node("Clip", {w->Input(), w->Scalar(f.a), w->Scalar(f.b)}));
}

void ConvertExp(LayerWriter* w) {
  const Pointwise& f = FunctionOf(*w);
  w->SetTop(w->Node("Exp", {w->Line(w->Input(), f.a, f.b)}));
}

void ConvertLog(LayerWriter* w) {
  const Pointwise& f = FunctionOf(*w);
  w->SetTop(w->Line(w->Node("Log", {w->Line(w->Input(), f.a, f.b)}), f.c, 0));
}

void ConvertPower(LayerWriter* w) {
  const Pointwise& f = FunctionOf(*w);
  const std::string line = w->Line(w->Input(), f.a, f.b);
  if (f.c == 1) return w->SetTop(line);
  // Not Pow: of negative numbers, too, the square is exact.
  if (f.c == 2) return w->SetTop(w->Node("Mul", {line, line}));
  w->SetTop(w->Node("Pow", {line, w->Scalar(f.c)}));
}

void ConvertGelu(LayerWriter* w) {
  const std::string x = w->Input();
  std::string sign;  // from -1 to 1
  if (FunctionOf(*w).kind == Pointwise::kGeluTanh) {
    const std::string cube = w->Node("Mul", {w->Node("Mul", {x, x}), x});
    const std::string inner = w->Node("Add", {x, w->Line(cube, 0.044715f, 0)});
    sign = w->Node("Tanh", {w->Line(inner, 0.79788456f, 0)});
  } else {
    sign = w->Node("Erf", {w->Line(x, 0.70710678f, 0)});
  }
  w->SetTop(w->Node("Mul", {x, w->Line(sign, 0.5f, 0.5f)}));
}

void ConvertHardSwish(LayerWriter* w) {
  const std::string gate =
      w->Node("HardSigmoid", {w->Input()},
              {FloatAttribute("alpha", 1.f / 6), FloatAttribute("beta", 0.5f)});
  w->SetTop(w->Node("Mul", {w->Input(), gate}));
}

void ConvertSwish(LayerWriter* w) {
  const std::string gate = w->Node("Sigmoid", {w->Line(w->Input(), FunctionOf(*w).a, 0)});
  w->SetTop(w->Node("Mul", {w->Input(), gate}));
}

GF_REGISTER(ConverterRegistry, "AbsVal", ConvertBy<&ConvertNode<kAbs>>);
GF_REGISTER(ConverterRegistry, "BNLL", ConvertBy<&ConvertNode<kSoftplus>>);
GF_REGISTER(ConverterRegistry, "Clip", ConvertBy<&ConvertClip>);
GF_REGISTER(ConverterRegistry, "ELU", ConvertBy<&ConvertElu>);
GF_REGISTER(ConverterRegistry, "Exp", ConvertBy<&ConvertExp>);
GF_REGISTER(ConverterRegistry, "GELU", ConvertBy<&ConvertGelu>);
GF_REGISTER(ConverterRegistry, "HardSwish", ConvertBy<&ConvertHardSwish>);
GF_REGISTER(ConverterRegistry, "Log", ConvertBy<&ConvertLog>);
GF_REGISTER(ConverterRegistry, "Power", ConvertBy<&ConvertPower>);
GF_REGISTER(ConverterRegistry, "ReLU", ConvertBy<&ConvertRelu>);
GF_REGISTER(ConverterRegistry, "Sigmoid", ConvertBy<&ConvertNode<kSigmoid>>);
GF_REGISTER(ConverterRegistry, "SiLU", ConvertBy<&ConvertSwish>);
GF_REGISTER(ConverterRegistry, "Swish", ConvertBy<&ConvertSwish>);
GF_REGISTER(ConverterRegistry, "TanH", ConvertBy<&ConvertNode<kTanh>>);

}  // namespace
}  // namespace gf
