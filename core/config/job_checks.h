#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "core/config/job.pb.h"
#include "core/config/places.h"

namespace gf {

// Decoding threads of a rank, at most.
constexpr int kMostWorkers = 1024;
// Channels of an image, at most.
constexpr int kMostChannels = 16;
// The largest loss scale: beyond it FP32 gradients themselves would overflow.
constexpr double kLargestLossScale = 0x1p40;

// The functions below throw UserError "PLACE: path.field is VALUE, must be ..." or, for fields that
// do not go together, a message that names both. `path`: of the message, before its fields' names.
// Without `places` (a message that was built in code) errors name the field alone.

// Checks each field of JobConfig, or of a message inside, for itself.
void CheckJobFields(const google::protobuf::Message& message, const std::string& path,
                    const Places& places = Places());

// Tells the checks that `field` ("SolverConfig.type") holds one of the names that a room above
// registers. Programs without that room take any name. Returns true.
bool OfferNames(const std::string& field, std::vector<std::string> (*names)());

// Fields, and how they go together. `training`: the data are for training.
void CheckData(const DataConfig& data, bool training, const std::string& path = "",
               const Places& places = Places());

// The data during data.size_phase(phase).
DataConfig DataOfPhase(const DataConfig& data, int phase);

// Whether batches of training are mixed.
bool MixesImages(const DataConfig& data);

// How the labels of a job's data and `classes` go together.
void CheckLabels(const JobConfig& config, const Places& places);

void CheckComm(const CommConfig& config, const std::string& path = "",
               const Places& places = Places());

void CheckLossScale(const LossScaleConfig& config, const std::string& path = "",
                    const Places& places = Places());

// The settings of an update by the solver `type`, which may differ from config.type.
void CheckUpdate(const SolverConfig& config, const std::string& type, const std::string& path = "",
                 const Places& places = Places());

// The whole job, with `config.train_data` for training.
void CheckJob(const JobConfig& config, const Places& places = Places());

}  // namespace gf
