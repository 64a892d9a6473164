#pragma once

#include "core/config/config.h"
#include "models/net.h"

namespace gf {

// An extent of an Input that the data determine (SetInputs). No file can hold it.
constexpr int64_t kFollowsData = INT64_MIN;

// The net of a job: reads config.net() and makes the changes that `input` and `classes` ask for,
// for both phases. Throws UserError, also if the net does not say clearly what to change.
NetSource ReadJobNet(const JobConfig& config);

// The changes alone. ChangeClasses also removes Accuracy layers whose top_k exceeds the
// classes, unless a layer reads their tops. `labels`: what the net's outputs are compared with.
void ChangeInput(const InputConfig& input, NetSource* net);
void ChangeClasses(int64_t classes, NetSource* net, LabelConfig::Type labels = LabelConfig::CLASS);

// The labels of a phase's data. The data, train_data and config.classes() give their count, in this
// order; 0: only the opened data tell it.
LabelConfig LabelsOf(const JobConfig& config, Phase phase);

// The options of a job's net for a phase.
NetOptions NetOptionsOf(const JobConfig& config, Phase phase);

}  // namespace gf
