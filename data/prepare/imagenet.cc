#include "data/prepare/imagenet.h"

#include <memory>
#include <mutex>

#include "core/config/job.pb.h"
#include "core/error.h"
#include "core/file.h"
#include "core/folder.h"
#include "core/output_file.h"
#include "core/random.h"
#include "core/readable.h"
#include "data/formats/shard_writer.h"
#include "data/image/render.h"
#include "data/loader/sampler.h"
#include "data/loader/workers.h"
#include "data/prepare/imagenet_archive.h"

namespace gf {
namespace {

// One of the two sets on its way into shards.
struct Part {
  std::string name;  // "train", "val"
  std::unique_ptr<InputFile> archive;
  ArchiveImages images;
  int64_t shards = 0;
  bool shuffled = false;

  int64_t size() const { return static_cast<int64_t>(images.entries.size()); }
  int64_t Begin(int64_t shard) const { return size() * shard / shards; }
};

void CheckOptions(const ImageNetOptions& options) {
  const auto check = [](const char* flag, int64_t value, int64_t low, int64_t high) {
    if (value < low || value > high) {
      ThrowUserError("--", flag, "=", value, ", expected ", low, " to ", high);
    }
  };
  check("train_shards", options.train_shards, 1, 999'999);
  check("val_shards", options.val_shards, 1, 999'999);
  check("quality", options.quality, 1, 100);
  check("workers", options.workers, 0, 1024);
  if (options.train.empty() && options.val.empty()) {
    ThrowUserError("give --train=ILSVRC2012_img_train.tar, --val=ILSVRC2012_img_val.tar or both");
  }
  if (!options.val.empty() && options.val_labels.empty()) {
    ThrowUserError("--val needs --val_labels: a list with the class of each validation image");
  }
  if (options.train.empty() && options.synsets.empty()) {
    ThrowUserError(
        "--val without --train needs --synsets: the list of synsets in the order of "
        "the classes");
  }
}

// All that decides what the shards hold.
std::string Settings(const ImageNetOptions& options, const std::vector<Part>& parts) {
  std::string text = StrCat("resize ", options.resize.ToString(), "\nquality ", options.quality,
                            "\nseed ", options.seed, "\n");
  for (const Part& part : parts) {
    uint64_t labels = 0;
    for (const ArchiveImages::Entry& entry : part.images.entries) {
      labels = labels * 1'000'003 + static_cast<uint64_t>(entry.label);
    }
    text += StrCat(part.name, " ", part.size(), " images, ", part.archive->size(), " bytes, ",
                   part.shards, " shards, labels ", labels, "\n");
  }
  return text;
}

// Makes the folder, or checks that it was begun with the same settings.
void OpenFolder(const std::string& folder, const std::string& settings) {
  const std::string path = folder + "/gfdata-imagenet.txt";
  MakeFolders(folder);
  if (IsFile(path)) {
    const std::string found = ReadSmallFile(path, 1 << 20);
    if (found == settings) return;
    ThrowUserError(folder, " was begun with other settings:\n", found, "The settings are now:\n",
                   settings, "Continue with the first settings, or choose another --out");
  }
  if (!ListFolder(folder).empty()) {
    ThrowUserError(folder, " exists and is not empty: choose another --out");
  }
  ReplaceFile(path, settings);
}

class Packer {
 public:
  Packer(const ImageNetOptions& options, const std::vector<Part>& parts,
         const std::function<void(const ImageNetProgress&)>& report)
      : options_(options), report_(report) {
    for (const Part& part : parts) {
      progress_.shards += part.shards;
      progress_.images += part.size();
    }
  }

  void PackShard(const Part& part, int64_t shard) {
    const std::string path = options_.out + "/" + ShardName(part.name, shard);
    const int64_t begin = part.Begin(shard), end = part.Begin(shard + 1);
    const bool found = IsFile(path);
    if (!found) WriteShard(part, begin, end, path);
    Count([&](ImageNetProgress* progress) {
      ++progress->shards_done;
      if (!found) return;
      progress->found += end - begin;
      progress->images_done += end - begin;
    });
  }

  const ImageNetProgress& progress() const { return progress_; }

 private:
  void WriteShard(const Part& part, int64_t begin, int64_t end, const std::string& path) {
    // The index counts once its shard has the right name: that is renamed last.
    const std::string temporary = path.substr(0, path.size() - 4) + "-partial.tar";
    const Permutation order(part.size(), options_.seed, 0);
    ShardWriter writer(temporary);
    Record record;
    Renderer renderer;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = part.shuffled ? static_cast<int64_t>(order(i)) : i;
      const bool kept = AddImage(part, image, &record, &renderer, &writer);
      Count([&](ImageNetProgress* progress) {
        ++progress->images_done;
        progress->damaged += kept ? 0 : 1;
      });
    }
    writer.Close();
    Rename(TarIndexPath(temporary), TarIndexPath(path));
    Rename(temporary, path);
    SyncFolder(options_.out);
  }

  // False if the image is damaged and left out.
  bool AddImage(const Part& part, int64_t image, Record* record, Renderer* renderer,
                ShardWriter* writer) {
    const ArchiveImages::Entry& entry = part.images.entries[image];
    const std::string name = part.images.Name(image);
    try {
      uint8_t* bytes = record->buffer.Reserve(entry.bytes);
      if (part.archive->ReadAt(entry.offset, bytes, entry.bytes) !=
          static_cast<size_t>(entry.bytes)) {
        throw SampleError("the archive has become shorter");
      }
      record->data = bytes;
      record->size = entry.bytes;
      if (!options_.resize.Nothing()) {
        writer->Add(FileNames().Make(name),
                    ResizeRecord(*record, options_.resize, options_.quality, renderer),
                    entry.label);
      } else {
        writer->Add(FileNames().Make(name), EncodeRecord(*record, 0), entry.label);
      }
      return true;
    } catch (const SampleError& error) {
      const std::string message =
          StrCat(part.archive->path(), ":", Printable(name), ":", entry.offset, ": ", error.what());
      if (!options_.skip_damaged) {
        ThrowUserError(message, "; --skip_damaged leaves such images out");
      }
      PrintWarning("left out: ", message);
      return false;
    }
  }

  template <typename Change>
  void Count(const Change& change) {
    std::lock_guard<std::mutex> lock(mutex_);
    change(&progress_);
    report_(progress_);
  }

  const ImageNetOptions& options_;
  const std::function<void(const ImageNetProgress&)>& report_;
  std::mutex mutex_;
  ImageNetProgress progress_;
};

Part ListPart(const std::string& name, std::unique_ptr<InputFile> archive, ArchiveImages images,
              int64_t shards) {
  Part part;
  part.name = name;
  part.archive = std::move(archive);
  part.images = std::move(images);
  part.shards = std::min(shards, part.size());
  part.shuffled = name == "train";
  return part;
}

}  // namespace

ImageNetProgress PackImageNet(const ImageNetOptions& options,
                              const std::function<void(const ImageNetProgress&)>& report) {
  CheckOptions(options);
  std::vector<Part> parts;
  std::unique_ptr<InputFile> train;
  if (!options.train.empty()) train = std::make_unique<InputFile>(options.train);
  const Synsets synsets =
      options.synsets.empty() ? SynsetsOfArchive(*train) : Synsets::FromFile(options.synsets);
  if (train) {
    ArchiveImages images = ListTraining(*train, synsets);
    parts.push_back(ListPart("train", std::move(train), std::move(images), options.train_shards));
  }
  if (!options.val.empty()) {
    auto val = std::make_unique<InputFile>(options.val);
    ArchiveImages images = ListValidation(*val);
    std::vector<std::string> names;
    for (size_t i = 0; i < images.entries.size(); ++i) names.push_back(images.Name(i));
    const std::vector<int64_t> labels =
        ReadValidationLabels(options.val_labels, options.id_map, synsets, names);
    for (size_t i = 0; i < labels.size(); ++i) {
      images.entries[i].label = static_cast<int32_t>(labels[i]);
    }
    parts.push_back(ListPart("val", std::move(val), std::move(images), options.val_shards));
  }
  OpenFolder(options.out, Settings(options, parts));
  WriteClassNames(options.out, synsets.descriptions());
  Packer packer(options, parts, report);
  for (const Part& part : parts) {
    RunWorkers(options.workers, part.shards, [&](int64_t shard) { packer.PackShard(part, shard); });
  }
  return packer.progress();
}

}  // namespace gf
