#include "solvers/train/image_size.h"

#include <memory>

#include "comm/agree.h"
#include "core/error.h"

namespace gf {

void CheckSizes(const TrainingParts& parts) {
  for (const DataConfig& data : parts.sizes->AllData()) {
    try {
      CheckNetTakes(data, parts.source, parts.build, parts.train, parts.device.get());
    } catch (const UserError& error) {
      ThrowUserError("train_data.size_phase with crop_size ", data.crop_size(), ": ", error.what());
    }
  }
}

void TakeImageSize(Communicator* comm, TrainingParts* parts) {
  const int64_t step = parts->state.step;
  parts->size_step = parts->sizes->FirstStepOf(step);
  comm->watchdog()->SetActivity(StrCat("a new image size after step ", step));
  AgreeOnErrors(comm, "building the net for another image size", [&] {
    const std::shared_ptr<ParameterStore> parameters = parts->train.net->parameters();
    // First, so that both need not fit into memory.
    parts->feed.reset();
    parts->train = DataAndNet();
    BuildOptions build = parts->build;
    build.warns = false;
    parts->train = BuildDataAndNet(parts->sizes->DataOf(step), parts->source, TRAIN, build,
                                   parameters, parts->device.get());
    if (!parts->bucket_ends.empty()) parts->train.net->SetBucketEnds(parts->bucket_ends);
    parts->train.loader->Seek(parts->state.position);
    parts->feed = std::make_unique<BatchFeed>(parts->train.loader.get(), parts->train.net.get(),
                                              parts->timeline.get());
  });
  const Shape& images = parts->train.net->input_shape();
  parts->report->Note(StrCat("images of ", images[2], "x", images[3],
                             " (height x width) from step ", step + 1, " on"));
}

}  // namespace gf
