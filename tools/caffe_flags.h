#pragma once

#include <string>

namespace gf {

// What stands for a word of Caffe's command line, the command "train" or the flag "solver", as the
// end of an error; "" for other words.
std::string CaffeHint(const std::string& word);

}  // namespace gf
