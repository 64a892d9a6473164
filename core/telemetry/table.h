#pragma once

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace gf {

// Rows of cells whose columns are aligned: words to the left, numbers to the right.
class Table {
 public:
  // Names and values: two columns of words without a header.
  Table() : right_(2, false) {}
  // A name that begins with '>' heads a column of numbers.
  explicit Table(std::vector<std::string> header);

  // A row of as many cells as the header has.
  void Add(std::vector<std::string> row);
  void Print(FILE* out) const;

 private:
  std::vector<bool> right_;  // by column: numbers
  std::vector<std::vector<std::string>> rows_;
};

// A table of names and values without a header.
void PrintTable(const std::vector<std::pair<std::string, std::string>>& rows, FILE* out);

}  // namespace gf
