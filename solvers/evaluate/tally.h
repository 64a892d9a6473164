#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "core/batch.h"

namespace gf {

// A figure of an evaluation.
struct Figure {
  enum Kind {
    kCount,
    kShare,   // 0 to 1; people read percents
    kNumber,  // in the unit of the labels, or without one
  };
  std::string key, name;  // for programs, "top1"; for people, "top-1"
  Kind kind = kNumber;
  std::optional<double> value;  // nothing: it is not defined
};

// The sums of an evaluation: how well a net's outputs fit the labels of images. There is a tally
// for each type of labels (LabelConfig).
class Tally {
 public:
  virtual ~Tally() = default;

  // Adds the first images of a batch: outputs [batch][outputs()], and the numbers of these images
  // in the data set.
  virtual void Add(const std::vector<float>& outputs, const Batch& batch,
                   const std::vector<int64_t>& images) = 0;
  // Puts together what all ranks have; every rank gets the total. The figures below hold for all
  // ranks afterwards, and are not defined before.
  virtual void Reduce(Communicator* comm) = 0;

  // Numbers of the net per image: classes or values.
  virtual int64_t outputs() const = 0;
  virtual int64_t images() const = 0;
  // Mean of the images' losses; 0 without images.
  virtual double loss() const = 0;
  // Of all images, the most important figure first.
  virtual std::vector<Figure> Figures() const = 0;
  // Of class or value `output`.
  virtual std::vector<Figure> FiguresOf(int64_t output) const = 0;
  // Whether an output is a value, not a class.
  virtual bool outputs_are_values() const { return false; }
};

// The figure for people: "1,234", "12.34 %", "0.123456"; "none" without value.
std::string FigureText(const Figure& figure);

}  // namespace gf
