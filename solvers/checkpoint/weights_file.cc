#include "solvers/checkpoint/weights_file.h"

#include "core/config/name_pattern.h"
#include "core/error.h"
#include "core/folder.h"
#include "core/readable.h"
#include "solvers/checkpoint/caffemodel.h"
#include "solvers/checkpoint/checkpoint.h"
#include "solvers/checkpoint/pool_file.h"

namespace gf {

namespace {

// Says what came from the file and what did not, in up to four lines.
void NoteReport(const std::string& path, const WeightsReport& report,
                const std::function<void(const std::string&)>& note) {
  note(StrCat("loaded ", Counted(report.loaded.size(), "tensor"), " from ", path));
  if (!report.missing.empty()) {
    note(StrCat("not in the file, so as initialized: ", SomeNames(report.missing)));
  }
  if (!report.skipped.empty()) {
    note(StrCat("skipped, so as initialized: ", SomeNames(report.skipped)));
  }
  if (!report.unused.empty()) {
    note(StrCat("in the file, but not in the net: ", SomeNames(report.unused)));
  }
}

// Each pattern must mean something.
void CheckSkip(const std::vector<std::string>& skip, const ParameterStore& store) {
  for (const std::string& pattern : skip) {
    CheckPattern("--weights_skip", pattern,
                 {&store.layout(), &store.frozen_layout(), &store.state_layout()});
  }
}

}  // namespace

void LoadWeightsFile(const std::string& given, const WeightsFileOptions& options,
                     ParameterStore* store, const std::function<void(const std::string&)>& note) {
  CheckSkip(options.skip, *store);
  const std::string path = IsFolder(given) ? StrCat(given, "/", kWeightsFile) : given;
  if (!IsCaffeModel(path)) {
    if (options.bgr) ThrowUserError("--bgr goes with a file x.caffemodel, got ", path);
    if (options.complete) return LoadWeights(path, store);
    return NoteReport(path, LoadMatchingWeights(path, options.skip, store), note);
  }
  const CaffeModelReport report =
      LoadCaffeModel(path, {options.complete, options.bgr, options.skip}, store);
  if (!options.complete || !report.unused.empty()) NoteReport(path, report, note);
  if (report.reads_color_images && !options.bgr) {
    note(StrCat(path,
                ": taken as trained on RGB images; Caffe's own tools make BGR of JPEG "
                "files, for which add --bgr"));
  }
}

}  // namespace gf
