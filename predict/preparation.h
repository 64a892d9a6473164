#pragma once

#include <string>
#include <vector>

#include "core/config/job.pb.h"
#include "core/config/places.h"

namespace gf {

// How images are prepared for predictions: the fields of DataConfig that an evaluation uses. The
// others keep their defaults, but for `source`, for which the checks ask: it is "none".

// The fields that `data` has of them.
DataConfig WithoutRandomParts(const DataConfig& data);

// The preparation of a job's validation, else of its training images without the random parts. A
// random_resized_crop becomes the largest square, and a mean image then its mean per channel.
DataConfig PreparationOf(const JobConfig& job);

// The preparation in a prototxt `file`. Its mean_file is relative to the file's folder. Throws
// UserError for a field that has no meaning for predictions.
DataConfig ReadPreprocessing(const std::string& file);

// Applies the values of --set, such as "crop_size=224", to a preparation and notes them in `places`
// as fields of `path`. Returns whether one of them is more than a batch_size. Throws UserError for
// a field that has no meaning for predictions, and as SetField.
bool SetPreparation(const std::vector<std::string>& assignments, const std::string& path,
                    DataConfig* data, Places* places);

}  // namespace gf
