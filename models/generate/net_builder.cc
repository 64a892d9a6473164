#include "models/generate/net_builder.h"

namespace gf {
namespace {

void AddParam(float lr_mult, float decay_mult, LayerParameter* layer) {
  ParamSpec* param = layer->add_param();
  param->set_lr_mult(lr_mult);
  param->set_decay_mult(decay_mult);
}

void SetWindow(Window window, ConvolutionParameter* param) {
  param->add_kernel_size(window.kernel);
  if (window.stride != 1) param->add_stride(window.stride);
  if (window.pad != 0) param->add_pad(window.pad);
}

void SetWindow(Window window, PoolingParameter* param) {
  param->set_kernel_size(window.kernel);
  param->set_stride(window.stride);
  if (window.pad != 0) param->set_pad(window.pad);
}

}  // namespace

FillerParameter Constant(float value) {
  FillerParameter filler;
  filler.set_type("constant");
  filler.set_value(value);
  return filler;
}

FillerParameter Uniform(float limit) {
  FillerParameter filler;
  filler.set_type("uniform");
  filler.set_min(-limit);
  filler.set_max(limit);
  return filler;
}

FillerParameter Xavier() {
  FillerParameter filler;
  filler.set_type("xavier");
  return filler;
}

FillerParameter MsraFanOut() {
  FillerParameter filler;
  filler.set_type("msra");
  filler.set_variance_norm(FillerParameter::FAN_OUT);
  return filler;
}

NetBuilder::NetBuilder(const std::string& name) { net_.set_name(name); }

LayerParameter* NetBuilder::Add(const std::string& name, const std::string& type,
                                const std::vector<std::string>& bottoms, const std::string& top) {
  LayerParameter* layer = net_.add_layer();
  layer->set_name(name);
  layer->set_type(type);
  for (const std::string& bottom : bottoms) layer->add_bottom(bottom);
  layer->add_top(top);
  return layer;
}

std::string NetBuilder::Input(int channels, int size) {
  BlobShape* data = Add("data", "Input", {}, "data")->mutable_input_param()->add_shape();
  for (const int dim : {1, channels, size, size}) data->add_dim(dim);
  Add("label", "Input", {}, "label")->mutable_input_param()->add_shape()->add_dim(1);
  return "data";
}

std::string NetBuilder::Conv(const std::string& name, const std::string& bottom, int outputs,
                             Window window, const FillerParameter& filler) {
  ConvolutionParameter* conv =
      Add(name, "Convolution", {bottom}, name)->mutable_convolution_param();
  conv->set_num_output(outputs);
  conv->set_bias_term(false);
  SetWindow(window, conv);
  *conv->mutable_weight_filler() = filler;
  return name;
}

std::string NetBuilder::Blur(const std::string& name, const std::string& bottom, int channels) {
  LayerParameter* layer = Add(name, "Convolution", {bottom}, name);
  AddParam(0, 0, layer);
  ConvolutionParameter* conv = layer->mutable_convolution_param();
  conv->set_num_output(channels);
  conv->set_group(channels);
  conv->set_bias_term(false);
  SetWindow({3, 1, 1}, conv);
  conv->mutable_weight_filler()->set_type("binomial");
  return name;
}

std::string NetBuilder::ConvBias(const std::string& name, const std::string& bottom, int outputs,
                                 Window window, const FillerParameter& filler,
                                 const FillerParameter& bias, float bias_lr_mult) {
  LayerParameter* layer = Add(name, "Convolution", {bottom}, name);
  AddParam(1, 1, layer);
  AddParam(bias_lr_mult, 0, layer);
  ConvolutionParameter* conv = layer->mutable_convolution_param();
  conv->set_num_output(outputs);
  SetWindow(window, conv);
  *conv->mutable_weight_filler() = filler;
  *conv->mutable_bias_filler() = bias;
  return name;
}

std::string NetBuilder::InnerProduct(const std::string& name, const std::string& bottom,
                                     int outputs, const FillerParameter& filler,
                                     const FillerParameter& bias, float bias_lr_mult) {
  LayerParameter* layer = Add(name, "InnerProduct", {bottom}, name);
  AddParam(1, 1, layer);
  AddParam(bias_lr_mult, 0, layer);
  InnerProductParameter* fc = layer->mutable_inner_product_param();
  fc->set_num_output(outputs);
  *fc->mutable_weight_filler() = filler;
  *fc->mutable_bias_filler() = bias;
  return name;
}

std::string NetBuilder::AddBatchNorm(const std::string& name, const std::string& bottom,
                                     const std::string& top) {
  BatchNormParameter* norm = Add(name, "BatchNorm", {bottom}, top)->mutable_batch_norm_param();
  norm->set_moving_average_fraction(0.9f);
  norm->set_eps(1e-5f);
  LayerParameter* layer = Add(name + ".scale", "Scale", {top}, top);
  AddParam(1, 0, layer);
  AddParam(1, 0, layer);
  ScaleParameter* scale = layer->mutable_scale_param();
  *scale->mutable_filler() = Constant(1);
  scale->set_bias_term(true);
  *scale->mutable_bias_filler() = Constant(0);
  return top;
}

std::string NetBuilder::BatchNormInPlace(const std::string& name, const std::string& bottom) {
  return AddBatchNorm(name, bottom, bottom);
}

std::string NetBuilder::BatchNorm(const std::string& name, const std::string& bottom) {
  return AddBatchNorm(name, bottom, name);
}

std::string NetBuilder::ReluInPlace(const std::string& name, const std::string& bottom) {
  Add(name, "ReLU", {bottom}, bottom);
  return bottom;
}

std::string NetBuilder::DropoutInPlace(const std::string& name, const std::string& bottom,
                                       float ratio) {
  Add(name, "Dropout", {bottom}, bottom)->mutable_dropout_param()->set_dropout_ratio(ratio);
  return bottom;
}

std::string NetBuilder::Lrn(const std::string& name, const std::string& bottom) {
  LRNParameter* lrn = Add(name, "LRN", {bottom}, name)->mutable_lrn_param();
  lrn->set_local_size(5);
  lrn->set_alpha(1e-4f);
  lrn->set_beta(0.75f);
  return name;
}

std::string NetBuilder::Pool(const std::string& name, const std::string& bottom,
                             PoolingParameter::PoolMethod method, Window window,
                             PoolingParameter::RoundMode round_mode) {
  PoolingParameter* pool = Add(name, "Pooling", {bottom}, name)->mutable_pooling_param();
  pool->set_pool(method);
  SetWindow(window, pool);
  if (round_mode != PoolingParameter::CEIL) pool->set_round_mode(round_mode);
  return name;
}

std::string NetBuilder::GlobalAveragePool(const std::string& name, const std::string& bottom) {
  PoolingParameter* pool = Add(name, "Pooling", {bottom}, name)->mutable_pooling_param();
  pool->set_pool(PoolingParameter::AVE);
  pool->set_global_pooling(true);
  return name;
}

std::string NetBuilder::Sum(const std::string& name, const std::string& a, const std::string& b) {
  Add(name, "Eltwise", {a, b}, name)->mutable_eltwise_param()->set_operation(EltwiseParameter::SUM);
  return name;
}

std::string NetBuilder::Concat(const std::string& name, const std::vector<std::string>& bottoms) {
  Add(name, "Concat", bottoms, name);
  return name;
}

void NetBuilder::Loss(const std::string& name, const std::string& logits, float weight) {
  LayerParameter* layer = Add(name, "SoftmaxWithLoss", {logits, "label"}, name);
  if (weight != 1) layer->add_loss_weight(weight);
}

void NetBuilder::Accuracy(const std::string& name, const std::string& logits, int top_k) {
  LayerParameter* layer = Add(name, "Accuracy", {logits, "label"}, name);
  if (top_k != 1) layer->mutable_accuracy_param()->set_top_k(top_k);
  layer->add_include()->set_phase(TEST);
}

}  // namespace gf
