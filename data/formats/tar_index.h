#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "data/formats/image_labels.h"

namespace gf {

// Where the labels of a shard's images come from.
struct TarLabels {
  // Reads .cls files with any number of labels; null: each holds one class index.
  LabelParser* parser = nullptr;
  // False: from elsewhere. Images without .cls are samples, too, and .cls files are passed over.
  bool in_shard = true;
};

// The longest .cls file that a parser reads.
constexpr int64_t kMaxLabelsBytes = int64_t{16} << 20;

// One image of a shard.
struct TarSample {
  std::string_view key;
  int64_t offset = 0, bytes = 0;  // of the image's data
  int64_t label = 0;
  std::vector<float> labels = {};  // of TarLabels::parser
};

// The samples of a shard from the index file beside it, by offset.
struct TarIndex {
  std::vector<TarSample> samples;
  std::string text;  // what the keys are parts of
};

// The index file of a shard: "a/b.tar" -> "a/b.idx".
std::string TarIndexPath(const std::string& shard);

// Reads the index file beside a shard, in the form that DALI's wds2idx writes: a line
// "v1.2 <samples>", then per sample a line of "<ending> <offset> <size> <name>" for each of its
// files. A further line "labels <bytes of the shard> <label> ...", which DALI does not look at,
// saves reading the .cls files. An index that does not fit the shard, or says of a sample anything
// but one image and one label, is not used: nothing is returned, and `why` says what is wrong,
// empty if there is no such file. A line of labels knows single classes only: with labels.parser
// the .cls files are read.
std::optional<TarIndex> ReadTarIndex(const InputFile& shard, std::string* why,
                                     const TarLabels& labels = {});

// Collects what an index file says while a shard is written.
class TarIndexWriter {
 public:
  // A file of the sample that is being written, in the shard's order.
  void AddFile(const std::string& name, int64_t offset, int64_t bytes);
  void EndSample(int64_t label);
  // Of a sample with any number of labels, which only its .cls file holds.
  void EndSample();
  // Writes the index of a shard that has `shard_bytes` bytes; it appears when it is complete.
  void Write(const std::string& path, int64_t shard_bytes);

 private:
  int64_t samples_ = 0;
  bool in_sample_ = false;
  bool has_labels_ = true;  // of all samples
  std::string lines_, labels_;
};

// Parses the label in a .cls file: a class index below kMaxClasses in ASCII; blanks around it are
// allowed.
std::optional<int64_t> ParseLabel(std::string_view text);

// What a file in a shard is for, by its ending.
enum class TarRole { kImage, kLabel, kOther };

// Splits a name at the first dot of its last part (WebDataset's rule). False if it has no key or
// no ending.
bool SplitTarName(std::string_view name, std::string_view* key, TarRole* role);

}  // namespace gf
