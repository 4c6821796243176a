#include "models/run/tables/best_of_table.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/strings/str_format.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr int kColumn = 12;

struct Row {
  const BestOfKey* key;
  const Decision* decision;
  int64_t uses;
};

const CandidateTime* Find(const Decision& decision, std::string_view name) {
  const auto found = std::ranges::find(decision.candidates, name, &CandidateTime::name);
  return found == decision.candidates.end() ? nullptr : &*found;
}

// Microseconds, marked where they are of the best; "-" where they are not known.
std::string Cell(const Decision& decision, std::string_view name) {
  const CandidateTime* candidate = Find(decision, name);
  if (candidate == nullptr) return "";
  return StrCat(name == decision.chosen ? "*" : "",
                candidate->microseconds ? absl::StrFormat("%.1f", *candidate->microseconds) : "-");
}

// Times of what would run without a tuner, and of what was chosen.
struct Times {
  std::optional<double> before, after;

  static Times Of(const Decision& decision) {
    return {decision.candidates[0].microseconds, Find(decision, decision.chosen)->microseconds};
  }
  std::string SpeedUp() const {
    if (!before || !after || !(*after > 0)) return "-";
    return absl::StrFormat("%.2f", *before / *after);
  }
};

// `titles`: of the columns of `cells`, which are as wide at least.
std::string Line(int width, std::string_view first, std::string_view count,
                 const std::vector<std::string>& titles, const std::vector<std::string>& cells) {
  std::string line = absl::StrFormat("  %-*s %8s", width, std::string(first), std::string(count));
  for (size_t i = 0; i < cells.size(); ++i) {
    absl::StrAppendFormat(&line, " %*s", std::max(kColumn, int(titles[i].size())), cells[i]);
  }
  return line + "\n";
}

std::string Table(const std::vector<Row>& rows) {
  std::set<std::string> names;
  size_t width = 4;
  for (const Row& row : rows) {
    width = std::max(width, row.key->problem.size());
    for (const CandidateTime& candidate : row.decision->candidates) names.insert(candidate.name);
  }
  std::vector<std::string> titles(names.begin(), names.end());
  titles.push_back("speed-up");
  std::string text = Line(int(width), "size", "layers", titles, titles);
  Times all = {.before = 0, .after = 0};
  int64_t layers = 0;
  for (const Row& row : rows) {
    std::vector<std::string> cells;
    for (const std::string& name : names) cells.push_back(Cell(*row.decision, name));
    const Times times = Times::Of(*row.decision);
    cells.push_back(times.SpeedUp());
    text += Line(int(width), row.key->problem, StrCat(row.uses), titles, cells);
    layers += row.uses;
    const auto add = [&](std::optional<double>& sum, const std::optional<double>& time) {
      sum = sum && time ? std::optional(*sum + double(row.uses) * *time) : std::nullopt;
    };
    add(all.before, times.before);
    add(all.after, times.after);
  }
  std::vector<std::string> cells(names.size());
  cells.push_back(all.SpeedUp());
  return text + Line(int(width), "all", StrCat(layers), titles, cells);
}

}  // namespace

std::string FormatBestOf(const BestOf& best_of) {
  using Group = std::tuple<std::string, std::string, int, std::string>;
  std::map<Group, std::vector<Row>> groups;
  for (const auto& [key, uses] : best_of.uses()) {
    groups[{key.operation, key.direction, key.threads, key.machine}].push_back(
        {&key, best_of.decisions().Find(key), uses});
  }
  std::string text;
  for (const auto& [group, rows] : groups) {
    const auto& [operation, direction, threads, machine] = group;
    absl::StrAppendFormat(&text,
                          "**** BestOf: %s %s, median microseconds of a call (t%d, %s); speed-up "
                          "over the automatic choice\n",
                          operation, direction, threads, machine);
    text += Table(rows);
  }
  return text;
}

}  // namespace dtnn
