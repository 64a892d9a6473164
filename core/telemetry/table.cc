#include "core/telemetry/table.h"

#include <algorithm>

namespace gf {

Table::Table(std::vector<std::string> header) {
  for (std::string& name : header) {
    right_.push_back(name[0] == '>');
    if (right_.back()) name.erase(0, 1);
  }
  Add(std::move(header));
}

void Table::Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

void Table::Print(FILE* out) const {
  std::vector<size_t> width(right_.size());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  }
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(width[i] - row[i].size(), ' ');
      line += "  " + (right_[i] ? blanks + row[i] : row[i] + blanks);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::fprintf(out, "%s\n", line.c_str());
  }
  std::fflush(out);
}

void PrintTable(const std::vector<std::pair<std::string, std::string>>& rows, FILE* out) {
  Table table;
  for (const auto& row : rows) table.Add({row.first, row.second});
  table.Print(out);
}

}  // namespace gf
