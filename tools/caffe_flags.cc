#include "tools/caffe_flags.h"

#include <map>

namespace gf {

std::string CaffeHint(const std::string& word) {
  static const auto* const hints = new std::map<std::string, std::string>{
      {"train", "Caffe's \"caffe train --solver=FILE\" is gftrain --solver=FILE here"},
      {"test", "Caffe's \"caffe test\" is gfeval --config=JOB here"},
      {"time", "Caffe's \"caffe time\" is gfbench --net=FILE here"},
      {"compute_image_mean",
       "Caffe's compute_image_mean is gfdata stats SOURCE --mean_file=FILE here"},
      {"convert_imageset",
       "Caffe's convert_imageset is gfdata convert --from=FOLDER --to=FOLDER --format=lmdb here"},
      {"solver",
       "a Caffe solver is trained by gftrain --solver=FILE, which writes the job that --config "
       "takes"},
      {"snapshot", "Caffe's --snapshot is --resume=FOLDER, of a checkpoint, here"},
      {"model",
       "Caffe's --model is net: \"FILE\" of the job here; --net=FILE for gfbench and --dry_run"},
      {"gpu", "Caffe's --gpu is --set device=cuda here, with a rank for each GPU"},
      {"iterations", "Caffe's --iterations is not needed: gfeval takes every image once"},
  };
  const auto found = hints->find(word);
  return found == hints->end() ? "" : found->second;
}

}  // namespace gf
