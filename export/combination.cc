// Layers of several bottoms.

#include "core/config/net.pb.h"
#include "export/layer_writer.h"
#include "layers/concat.h"
#include "layers/eltwise.h"
#include "layers/scale_by.h"

namespace gf {
namespace {

void ConvertConcat(LayerWriter* w) {
  w->SetTop(w->Node("Concat", w->Inputs(), {IntAttribute("axis", w->As<ConcatLayer>().axis())}));
}

std::string Sum(LayerWriter* w) {
  const std::vector<float>& coefficients = w->As<EltwiseLayer>().coefficients();
  std::vector<std::string> terms = w->Inputs();
  for (size_t i = 0; i < terms.size(); ++i) terms[i] = w->Line(terms[i], coefficients[i], 0);
  return w->Node(terms.size() == 2 ? "Add" : "Sum", terms);
}

std::string Product(LayerWriter* w) {
  std::string product = w->Input(0);
  for (int i = 1; i < w->param().bottom_size(); ++i) {
    product = w->Node("Mul", {product, w->Input(i)});
  }
  return product;
}

void ConvertEltwise(LayerWriter* w) {
  switch (w->As<EltwiseLayer>().operation()) {
    case EltwiseParameter::PROD:
      return w->SetTop(Product(w));
    case EltwiseParameter::MAX:
      return w->SetTop(w->Node("Max", w->Inputs()));
    case EltwiseParameter::SUM:
      return w->SetTop(Sum(w));
  }
}

// Axpy, ScaleBy and BiasBy.
void ConvertScaleBy(LayerWriter* w) {
  const auto& layer = w->As<ScaleByLayer>();
  const InferenceBlob &values = w->bottom(layer.x()), &factors = w->bottom(layer.factor());
  // The shape of the factors, with trailing axes of extent 1 up to the rank of x.
  const auto first = factors.shape.dims().begin();
  std::vector<int64_t> dims(first, first + (layer.end() - layer.begin()));
  dims.resize(values.shape.rank() - layer.begin(), 1);
  const std::string factor =
      w->Reshape(w->Input(layer.factor()), factors.shape, Shape(dims), factors.follows_batch);
  std::string y = w->Node(layer.adds() ? "Add" : "Mul", {w->Input(layer.x()), factor});
  if (layer.addend() >= 0) y = w->Node("Add", {y, w->Input(layer.addend())});
  w->SetTop(y);
}

GF_REGISTER(ConverterRegistry, "Axpy", ConvertBy<&ConvertScaleBy>);
GF_REGISTER(ConverterRegistry, "BiasBy", ConvertBy<&ConvertScaleBy>);
GF_REGISTER(ConverterRegistry, "Concat", ConvertBy<&ConvertConcat>);
GF_REGISTER(ConverterRegistry, "Eltwise", ConvertBy<&ConvertEltwise>);
GF_REGISTER(ConverterRegistry, "ScaleBy", ConvertBy<&ConvertScaleBy>);

}  // namespace
}  // namespace gf
