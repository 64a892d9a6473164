// gfbench data: how many images per second the loader delivers.

#include <gflags/gflags.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "data/loader/loader.h"
#include "tools/command.h"
#include "tools/gfbench/common_flags.h"

DEFINE_string(data, "", "the data set's `SOURCE`: a folder, a file or a glob");
DEFINE_string(task, "resized_crop",
              "the `TASK`: resized_crop, rand_augment, trivial_augment, crop, cache or evaluate");

namespace gf {
namespace {

constexpr int kBatch = 64;
double Seconds(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

DataConfig ConfigOfTask() {
  DataConfig config;
  config.set_source(FLAGS_data);
  config.set_batch_size(kBatch);
  config.set_workers(std::max(1, FLAGS_threads));
  config.set_mirror(true);
  const bool rand = FLAGS_task == "rand_augment", trivial = FLAGS_task == "trivial_augment";
  if (FLAGS_task == "resized_crop" || rand || trivial) {
    config.set_random_resized_crop(true);
    config.set_crop_size(224);
    if (rand) config.mutable_policy()->set_type(PolicyConfig::RAND_AUGMENT);
    if (trivial) config.mutable_policy()->set_type(PolicyConfig::TRIVIAL_AUGMENT_WIDE);
  } else if (FLAGS_task == "crop" || FLAGS_task == "cache") {
    config.set_random_crop(true);
    config.set_resize_shorter(256);
    config.set_crop_size(227);
    if (FLAGS_task == "cache") config.set_cache_mib(1 << 14);
  } else if (FLAGS_task == "evaluate") {
    config.set_mirror(false);
    config.set_resize_shorter(256);
    config.set_crop_size(224);
  } else {
    ThrowUserError("--task=", FLAGS_task,
                   ": expected resized_crop, rand_augment, trivial_augment, crop, cache or "
                   "evaluate");
  }
  return config;
}

// Copies between parts of two areas as large as the cache, in a changing order, so that the
// processor's caches hold as little of them as of the images.
class Copier {
 public:
  Copier(int64_t bytes, int threads)
      : piece_(bytes), threads_(threads), from_(kPieces * bytes, 1), to_(kPieces * bytes, 2) {}

  void Copy() {
    std::vector<std::thread> others;
    const auto part = [&](int thread) {
      const int64_t begin = piece_ * thread / threads_, end = piece_ * (thread + 1) / threads_;
      const int64_t at = next_ % kPieces * piece_ + begin;
      std::memcpy(to_.data() + at, from_.data() + at, end - begin);
    };
    for (int i = 1; i < threads_; ++i) others.emplace_back(part, i);
    part(0);
    for (std::thread& other : others) other.join();
    next_ += 7;
  }

 private:
  static constexpr int64_t kPieces = 32;
  const int64_t piece_;
  const int threads_;
  std::vector<uint8_t> from_, to_;
  int64_t next_ = 0;
};

class DataBenchmark : public Command {
 public:
  FlagSpec Spec() const override {
    FlagSpec spec;
    spec.summary = "times the loader: images per second, without a net.";
    spec.usage = {"gfbench data --data=SOURCE [FLAGS]"};
    spec.examples = {"gfbench data --data='shards/train-*.tar' --task=resized_crop --threads=1"};
    spec.groups = {{"Data", {"data", "task"}}, CommonFlags()};
    spec.notes =
        "Loads --steps batches of 64 UINT8 images with --threads decoding threads (1 if not "
        "given).\n"
        "Tasks:\n"
        "  resized_crop     random window (area 0.08..1, aspect 3/4..4/3) at 224 x 224, mirrored\n"
        "  rand_augment     the same, then two operations of RandAugment\n"
        "  trivial_augment  the same, then one operation of TrivialAugmentWide\n"
        "  crop             shorter side 256, random window of 227 x 227, mirrored\n"
        "  cache            the same from a cache of decoded images, beside a copy (memcpy, the\n"
        "                   same number of threads) that reads and writes as many bytes as the\n"
        "                   batch has\n"
        "  evaluate         shorter side 256, center 224\n";
    return spec;
  }

  int Run(const Arguments& arguments) override {
    CheckCommonFlags();
    CheckJsonFile();
    if (FLAGS_data.empty()) ThrowUserError("--data is missing: name a folder, a file or a glob");
    const DataConfig config = ConfigOfTask();
    LoaderOptions options;
    if (FLAGS_task == "evaluate") options.mode = LoaderOptions::kEvaluate;
    Loader loader(config, options);
    const auto next = [&] {
      if (FLAGS_task == "evaluate" && loader.position() >= loader.batches() * kBatch) {
        loader.Seek(0);
      }
      loader.Next();
    };
    if (FLAGS_task == "cache") {
      while (loader.position() < loader.size()) next();
    }
    // What was decoded ahead before the clock started must not count.
    const int warmup = FLAGS_warmup + config.prefetch() + 1;
    for (int i = 0; i < warmup; ++i) next();
    const double seconds = Seconds([&] {
      for (int i = 0; i < FLAGS_steps; ++i) next();
    });
    const double images = static_cast<double>(FLAGS_steps) * kBatch;
    const int64_t bytes = loader.image_shape().count() * kBatch;
    double copy = 0;
    if (FLAGS_task == "cache") {
      Copier copier(bytes, config.workers());
      copier.Copy();
      copy = Seconds([&] {
               for (int i = 0; i < FLAGS_steps; ++i) copier.Copy();
             }) /
             FLAGS_steps;
    }
    Report(loader, images / seconds, static_cast<double>(bytes), seconds / FLAGS_steps, copy);
    return 0;
  }

 private:
  static void Report(const Loader& loader, double rate, double bytes, double step, double copy) {
    std::printf("%s, %s, %d threads: %.1f images/s\n", loader.Describe().c_str(),
                FLAGS_task.c_str(), loader.workers(), rate);
    nlohmann::ordered_json figures = {{"data", FLAGS_data},
                                      {"task", FLAGS_task},
                                      {"threads", loader.workers()},
                                      {"images_per_s", rate}};
    if (copy > 0) {
      std::printf("%.2f GB/s read and written, copy %.2f GB/s, share %.3f\n",
                  2 * bytes / step / 1e9, 2 * bytes / copy / 1e9, copy / step);
      figures["copy_share"] = copy / step;
    }
    WriteJson(figures);
  }
};

GF_REGISTER(CommandRegistry, "data", DataBenchmark);

}  // namespace
}  // namespace gf
