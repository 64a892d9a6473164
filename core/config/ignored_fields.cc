#include "core/config/ignored_fields.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/str_cat.h"

namespace gf {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// By message and field: what decides in its place. Caffe's own fields of this kind (engine,
// force_backward, debug_info) say nothing about a net's results and are not worth a word.
const std::map<std::string, std::string>& Reasons() {
  const char kType[] = "compute_type of the job";
  const char kDevice[] = "the device";
  const char kWhole[] = "images of the job are whole";
  static const auto* const reasons = new std::map<std::string, std::string>{
      {"NetParameter.default_forward_type", kType},
      {"NetParameter.default_backward_type", kType},
      {"NetParameter.default_forward_math", kType},
      {"NetParameter.default_backward_math", kType},
      {"LayerParameter.forward_type", kType},
      {"LayerParameter.backward_type", kType},
      {"LayerParameter.forward_math", kType},
      {"LayerParameter.backward_math", kType},
      {"NetParameter.global_grad_scale", "solver.loss_scale of the job"},
      {"NetParameter.global_grad_scale_adaptive", "solver.loss_scale of the job"},
      {"NetParameter.eltwise_mem_sharing", "memory is shared where it can be"},
      {"NetParameter.default_conv_algos_override", kDevice},
      {"NetParameter.default_cudnn_math_override", kDevice},
      {"LayerParameter.cudnn_math_override", kDevice},
      {"ConvolutionParameter.conv_algos_override", kDevice},
      {"ConvolutionParameter.cudnn_convolution_algo_seeker", kDevice},
      {"NetParameter.reduce_buckets", "comm of the job"},
      {"DataParameter.cache", "train_data.cache_mib of the job"},
      {"DataParameter.shuffle", "train_data.shuffle of the job"},
      {"DataParameter.threads", "train_data.workers of the job"},
      {"DataParameter.parser_threads", "train_data.workers of the job"},
      {"DummyDataParameter.data_filler", "train_data of the job"},
      {"WindowDataParameter.fg_threshold", kWhole},
      {"WindowDataParameter.bg_threshold", kWhole},
      {"WindowDataParameter.fg_fraction", kWhole},
      {"WindowDataParameter.context_pad", kWhole},
      {"WindowDataParameter.crop_mode", kWhole},
      {"TransformationParameter.use_gpu_transform", "the loader"},
      {"TransformationParameter.random_seed", "seed of the job"},
      {"SolverParameter.test_iter", "a test takes every image once"},
      {"SolverParameter.test_compute_loss", "a test always computes the loss"},
      {"SolverParameter.store_blobs_in_old_format", "checkpoints are safetensors"},
      {"SolverParameter.max_momentum", "the momentum is fixed"},
      {"SolverParameter.momentum_power", "the momentum is fixed"},
      {"SolverParameter.average_loss", "each line shows the mean since the last one"},
      {"SolverParameter.snapshot_diff", "checkpoints hold the weights and the solver's state"},
      {"SolverParameter.snapshot_format", "checkpoints are safetensors"},
      {"SolverParameter.snapshot_after_train", "the end of training always writes a checkpoint"},
      {"SolverParameter.device_id", "each rank takes a GPU of its own"},
      {"SolverParameter.debug_info", "--timeline_steps"},
      {"SolverParameter.layer_wise_reduce", "comm.mode of the job"},
      {"SolverParameter.per_parameter_reduce", "comm.mode of the job"},
      {"SolverParameter.solver_data_type", "compute_type of the job"},
      {"SolverParameter.epoch_size", "the images are counted"},
      {"SolverParameter.test_epoch_size", "the images are counted"},
  };
  return *reasons;
}

// Notes the ignored fields that a message and the messages in it set, in the order of the file's
// schema.
void Collect(const Message& message, std::vector<std::string>* found) {
  const Reflection* const reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const auto reason =
        Reasons().find(StrCat(field->containing_type()->name(), ".", field->name()));
    if (reason != Reasons().end()) {
      const std::string text = StrCat(field->name(), " (", reason->second, ")");
      if (std::find(found->begin(), found->end(), text) == found->end()) found->push_back(text);
    }
    if (field->message_type() == nullptr) continue;
    if (!field->is_repeated()) {
      Collect(reflection->GetMessage(message, field), found);
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      Collect(reflection->GetRepeatedMessage(message, field, i), found);
    }
  }
}

}  // namespace

std::string IgnoredFields(const Message& message) {
  std::vector<std::string> found;
  Collect(message, &found);
  std::string text;
  for (const std::string& field : found) {
    text += text.empty() ? "these fields have no effect (replacements in parentheses): " : ", ";
    text += field;
  }
  return text;
}

}  // namespace gf
