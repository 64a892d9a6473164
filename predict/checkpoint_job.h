#pragma once

#include <functional>
#include <string>

#include "core/config/config.h"
#include "solvers/checkpoint/checkpoint.h"

namespace gf {

// The folder of the checkpoint that `path` means: the folder of a checkpoint, or of several or of a
// run (telemetry.run_dir), whose newest valid one for `use` is taken. `note` gets a sentence for
// each that is passed over. Throws UserError where there is none. The checkpoint of a `path` that
// is a single one is not looked at.
std::string LocateCheckpoint(const std::string& path, CheckpointUse use,
                             const std::function<void(const std::string&)>& note);

// The job that wrote the checkpoint in `folder`, of which `state` was read. Its mean image is the
// one in the checkpoint, wherever the job's own lies.
JobConfig JobOfCheckpoint(const std::string& folder, const TrainingState& state);

// The file with the checkpoint's net. Throws UserError if the checkpoint is of an older version,
// which has none.
std::string NetFileOf(const std::string& folder);

// The job that evaluates the checkpoint in `folder` on the job's validation_data, with the
// checkpoint's own net. A job that has no validation_data gets one without a source: its images are
// prepared as those of training without the random parts. Throws UserError.
JobConfig EvaluationJob(const std::string& folder);

}  // namespace gf
