#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace gf {

// The extents of a tensor, outermost first (N, C, H, W for images; O, I, H, W for filters).
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  // The extent dims()[i]; a negative i counts from the end. CHECKs the range.
  int64_t operator[](int i) const;
  const std::vector<int64_t>& dims() const { return dims_; }

  // Number of elements (1 for rank 0). CHECKs against overflow.
  int64_t count() const { return count(0, rank()); }
  // Product of dims[begin, end).
  int64_t count(int begin, int end) const;

  // "64x3x227x227"
  std::string ToString() const;

  bool operator==(const Shape& other) const { return dims_ == other.dims_; }
  bool operator!=(const Shape& other) const { return dims_ != other.dims_; }

 private:
  std::vector<int64_t> dims_;
};

// Maximum number of elements of a shape that is read from a file.
constexpr int64_t kMaxElements = int64_t{1} << 40;

// Whether every extent is positive and the number of elements is at most kMaxElements.
bool IsSane(const Shape& shape);

// For a message about a shape that is not: "impossible shape 3x0, expected sides of 1 or more and
// at most 1099511627776 (2^40) elements". `what` replaces the word "shape".
std::string Impossible(const Shape& shape, const std::string& what = "shape");

}  // namespace gf
