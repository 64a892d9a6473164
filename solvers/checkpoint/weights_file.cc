#include "solvers/checkpoint/weights_file.h"

#include "core/error.h"
#include "core/folder.h"
#include "solvers/checkpoint/caffemodel.h"
#include "solvers/checkpoint/checkpoint.h"
#include "solvers/checkpoint/pool_file.h"

namespace gf {

void LoadWeightsFile(const std::string& given, const WeightsFileOptions& options,
                     ParameterStore* store, const std::function<void(const std::string&)>& note) {
  const std::string path = IsFolder(given) ? StrCat(given, "/", kWeightsFile) : given;
  if (!IsCaffeModel(path)) {
    if (options.bgr) ThrowUserError("--bgr goes with a file x.caffemodel, got ", path);
    return LoadWeights(path, store);
  }
  const CaffeModelReport report = LoadCaffeModel(path, {options.complete, options.bgr}, store);
  if (!report.missing.empty()) {
    note(StrCat("not in ", path, ", so as initialized: ", SomeNames(report.missing)));
  }
  if (!report.unused.empty()) {
    note(StrCat("layers of ", path, " that the net does not have: ", SomeNames(report.unused)));
  }
  if (report.reads_color_images && !options.bgr) {
    note(StrCat(path,
                ": taken as trained on RGB images; Caffe's own tools make BGR of JPEG "
                "files, for which add --bgr"));
  }
}

}  // namespace gf
