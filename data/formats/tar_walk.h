#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/config/job.pb.h"
#include "core/file.h"
#include "data/formats/tar_index.h"
#include "data/formats/tar_reader.h"

namespace gf {

// An image of a shard and its label.
struct TarPair {
  std::string key;
  TarMember image, label;
  int64_t value = 0;          // of the label
  std::vector<float> labels;  // of TarLabels::parser
};

// Walks a shard whose index is not known: calls `pair` for each sample when both its files have
// been seen. Damage is a UserError "path:offset: what", or, with `left_out`, passed over and told
// to it. Returns how many files were neither image nor label.
int64_t WalkTarSamples(const InputFile& file, const std::function<void(const TarPair&)>& pair,
                       const std::function<void(const std::string&)>& left_out,
                       const TarLabels& labels = {});

// Writes the index file beside a shard (TarIndexPath), in the order of the images in it; it
// appears when it is complete. Throws UserError naming what is wrong in the shard. Returns the
// number of samples; a shard without samples gets no index. `labels`: the kind of labels in the
// .cls files.
int64_t WriteTarIndex(const std::string& shard, const LabelConfig& labels = LabelConfig());

}  // namespace gf
