#include "core/config/v1_layers.h"

#include <google/protobuf/message.h>

#include <map>
#include <vector>

namespace gf {
namespace {

using google::protobuf::FieldDescriptor;

// The `param` entry of parameter i; adds missing entries up to it.
ParamSpec* Spec(int i, LayerParameter* layer) {
  while (layer->param_size() <= i) layer->add_param();
  return layer->mutable_param(i);
}

void MoveSpecs(const V1LayerParameter& old, LayerParameter* layer) {
  for (int i = 0; i < old.param_size(); ++i) Spec(i, layer)->set_name(old.param(i));
  for (int i = 0; i < old.blob_share_mode_size(); ++i) {
    Spec(i, layer)->set_share_mode(old.blob_share_mode(i));
  }
  for (int i = 0; i < old.blobs_lr_size(); ++i) Spec(i, layer)->set_lr_mult(old.blobs_lr(i));
  for (int i = 0; i < old.weight_decay_size(); ++i) {
    Spec(i, layer)->set_decay_mult(old.weight_decay(i));
  }
}

// Blocks such as convolution_param.
void CopyBlocks(const V1LayerParameter& old, LayerParameter* layer) {
  std::vector<const FieldDescriptor*> fields;
  old.GetReflection()->ListFields(old, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->message_type() == nullptr || field->is_repeated()) continue;
    const FieldDescriptor* to = LayerParameter::descriptor()->FindFieldByName(field->name());
    layer->GetReflection()->MutableMessage(layer, to)->CopyFrom(
        old.GetReflection()->GetMessage(old, field));
  }
}

}  // namespace

std::string TypeOfV1(V1LayerParameter::LayerType type) {
  using V1 = V1LayerParameter;
  static const auto* const types = new std::map<V1::LayerType, std::string>{
      {V1::ABSVAL, "AbsVal"},
      {V1::ACCURACY, "Accuracy"},
      {V1::ARGMAX, "ArgMax"},
      {V1::BNLL, "BNLL"},
      {V1::CONCAT, "Concat"},
      {V1::CONTRASTIVE_LOSS, "ContrastiveLoss"},
      {V1::CONVOLUTION, "Convolution"},
      {V1::DATA, "Data"},
      {V1::DECONVOLUTION, "Deconvolution"},
      {V1::DROPOUT, "Dropout"},
      {V1::DUMMY_DATA, "DummyData"},
      {V1::ELTWISE, "Eltwise"},
      {V1::EUCLIDEAN_LOSS, "EuclideanLoss"},
      {V1::EXP, "Exp"},
      {V1::FLATTEN, "Flatten"},
      {V1::HDF5_DATA, "HDF5Data"},
      {V1::HDF5_OUTPUT, "HDF5Output"},
      {V1::HINGE_LOSS, "HingeLoss"},
      {V1::IM2COL, "Im2col"},
      {V1::IMAGE_DATA, "ImageData"},
      {V1::INFOGAIN_LOSS, "InfogainLoss"},
      {V1::INNER_PRODUCT, "InnerProduct"},
      {V1::LRN, "LRN"},
      {V1::MEMORY_DATA, "MemoryData"},
      {V1::MULTINOMIAL_LOGISTIC_LOSS, "MultinomialLogisticLoss"},
      {V1::MVN, "MVN"},
      {V1::POOLING, "Pooling"},
      {V1::POWER, "Power"},
      {V1::RELU, "ReLU"},
      {V1::SIGMOID, "Sigmoid"},
      {V1::SIGMOID_CROSS_ENTROPY_LOSS, "SigmoidCrossEntropyLoss"},
      {V1::SILENCE, "Silence"},
      {V1::SLICE, "Slice"},
      {V1::SOFTMAX, "Softmax"},
      {V1::SOFTMAX_LOSS, "SoftmaxWithLoss"},
      {V1::SPLIT, "Split"},
      {V1::TANH, "TanH"},
      {V1::THRESHOLD, "Threshold"},
      {V1::WINDOW_DATA, "WindowData"},
  };
  const auto found = types->find(type);
  return found == types->end() ? "" : found->second;
}

LayerParameter UpgradeV1Layer(V1LayerParameter* old) {
  LayerParameter layer;
  if (old->has_name()) layer.set_name(old->name());
  if (const std::string type = TypeOfV1(old->type()); !type.empty()) layer.set_type(type);
  layer.mutable_bottom()->Swap(old->mutable_bottom());
  layer.mutable_top()->Swap(old->mutable_top());
  layer.mutable_loss_weight()->Swap(old->mutable_loss_weight());
  layer.mutable_blobs()->Swap(old->mutable_blobs());
  layer.mutable_include()->Swap(old->mutable_include());
  layer.mutable_exclude()->Swap(old->mutable_exclude());
  MoveSpecs(*old, &layer);
  CopyBlocks(*old, &layer);
  return layer;
}

}  // namespace gf
