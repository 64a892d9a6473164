#pragma once

#include <gflags/gflags_declare.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/job.pb.h"

// Flags that mean the same for every command.
DECLARE_string(from_format);
DECLARE_string(root_folder);
DECLARE_string(labels);
DECLARE_string(labels_file);
DECLARE_string(out);
DECLARE_int64(images);
DECLARE_bool(skip_damaged);
DECLARE_bool(force);
DECLARE_int32(workers);
DECLARE_string(resize);
DECLARE_int32(quality);
DECLARE_uint64(seed);

namespace gf {

std::string Upper(std::string text);

// The labels of --labels and --labels_file. Throws UserError for an unknown type.
LabelConfig LabelsOfFlags();

// Throws UserError for a flag without value.
void RequireFlag(const char* flag, const std::string& value);
// The only word of a command line. Throws UserError for any other number of them.
const std::string& OneArgument(const std::vector<std::string>& words, const char* command);

// Says where the former contents of a folder are now, if there were any.
void ReportOld(const std::string& old);

// A line on standard error that says how far a long job is, twice a second, in place, if that is a
// terminal; once a minute otherwise. One thread at a time.
class ProgressLine {
 public:
  ~ProgressLine();
  // `done` of `all` images; `more` is added to the line.
  void Show(int64_t done, int64_t all, const std::string& more = "");

 private:
  double start_ = -1, last_ = 0;
  int64_t first_ = 0;
  bool shown_ = false;
};

}  // namespace gf
