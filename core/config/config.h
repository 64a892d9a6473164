#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "core/config/job.pb.h"
#include "core/config/net.pb.h"
#include "core/dtype.h"

namespace gf {

// Reads a prototxt file into `message`. Throws UserError "file:line:col: what", with the
// nearest field or enum name for a misspelt one.
void ReadTextProto(const std::string& file, google::protobuf::Message* message);

// The same for a text; `name` stands for the file in messages.
void ParseTextProto(const std::string& text, const std::string& name,
                    google::protobuf::Message* message);

// Applies "a.b.c=value" to the field c of the sub-message b of a. A repeated field takes
// values separated by commas (and replaces what was there), "a[1].b=value" one element; of
// repeated messages the number after the last one adds an element. "a=" without a value removes
// the message a, or all elements of a.
// Returns the path of the field; Throws UserError that names the part of
// the path that is wrong.
std::string SetField(const std::string& assignment, google::protobuf::Message* message);

// The data sets that a program opens. With kNone, a job need not name them.
enum class OpenedData { kNone, kValidation, kAll };

// A job's config: the file, then the overrides, then relative paths in `net`, the data (source,
// mean_file, labels.file) and the checkpoint folder resolved: net and data against the config's
// folder, outputs against the working folder. Throws the UserErrors of CheckJob (job_checks.h), and
// one for the path of an input that exists in the working folder alone; each says whether the file
// or --set wrote the field.
JobConfig ReadJobConfig(const std::string& file, const std::vector<std::string>& overrides,
                        OpenedData opened = OpenedData::kAll);

// The same for a job that was made in code, from `name` in messages; its relative paths start at
// the working folder.
JobConfig FinishJobConfig(JobConfig config, const std::string& name,
                          const std::vector<std::string>& overrides);

// Makes the paths of the net and the data absolute.
void MakePathsAbsolute(JobConfig* config);

// The number type of a job's `compute_type`.
DType ToDType(ComputeType type);

// A network: reads the file and remembers where each layer was declared. Caffe's V1 format,
// `layers { type: CONVOLUTION }`, is read too; V0, `layers { layer { } }`, is not. ReadNet resolves
// the paths in it against the file's folder.
struct NetSource {
  NetParameter param;
  std::string file;
  // "file:line:col" of each entry of param.layer(), in order.
  std::vector<std::string> layer_locations;
};
NetSource ReadNet(const std::string& file);
NetSource ParseNet(const std::string& text, const std::string& name);

}  // namespace gf
