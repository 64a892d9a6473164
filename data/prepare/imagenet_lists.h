#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gf {

// The classes of ImageNet: synset k of the sorted synsets is class k.
class Synsets {
 public:
  // From a list with one synset per line, "n01440764" or "n01440764 tench, Tinca tinca"; the line's
  // number is the class. Throws UserError "file:line: ...".
  static Synsets FromFile(const std::string& path);
  // From names in any order.
  static Synsets FromNames(std::vector<std::string> names);

  int64_t size() const { return static_cast<int64_t>(names_.size()); }
  // -1 if there is none of this name.
  int64_t Find(const std::string& synset) const;
  // What classes.txt says of each: the synset and what follows it in the list.
  const std::vector<std::string>& descriptions() const { return descriptions_; }

 private:
  std::vector<std::string> names_, descriptions_;
  std::map<std::string, int64_t> numbers_;
};

// Whether the text is "n" and eight digits.
bool IsSynset(const std::string& text);

// The classes of the validation images, in the order of the images' names, from one of the lists
// that go round:
//   a synset per line (val_synsets.txt);
//   a name and a class 0, 1, ... per line (Caffe's val.txt);
//   a number 1, 2, ... per line (the development kit's ILSVRC2012_validation_ground_truth.txt).
// The numbers of the last are not classes: `id_map` must give the kit's list of "<synset> <id>"
// (map_clsloc.txt). `images` are the sorted names of the images without folder and ending. Throws
// UserError "file:line: ...".
std::vector<int64_t> ReadValidationLabels(const std::string& path, const std::string& id_map,
                                          const Synsets& synsets,
                                          const std::vector<std::string>& images);

}  // namespace gf
