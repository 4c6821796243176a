#include "models/observe/report/rank_waits.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "absl/strings/str_format.h"
#include "comm/gather_values.h"
#include "models/observe/report/charts/bar_chart.h"
#include "models/observe/report/charts/html.h"
#include "models/observe/report/charts/page.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr size_t kMostBars = 40, kMostRows = 1000;

double Share(const RankWait& rank) { return rank.seconds > 0 ? rank.waited / rank.seconds : 0; }

// By how much they wait; then those drawn, by number.
std::vector<size_t> LongestWaits(std::span<const RankWait> ranks, size_t most) {
  std::vector<size_t> longest(ranks.size());
  std::iota(longest.begin(), longest.end(), size_t{0});
  std::ranges::stable_sort(longest, std::greater(), [&](size_t i) { return Share(ranks[i]); });
  longest.resize(std::min(longest.size(), most));
  std::ranges::sort(longest);
  return longest;
}

}  // namespace

absl::Status RankWaits::OnEpochEnd(const Pass&, const Pass*) {
  const double mine[] = {trainer_.totals().waited_seconds, trainer_.totals().training_seconds};
  DTNN_ASSIGN_OR_RETURN(const std::vector<double> all, GatherValues<double>(communicator_, mine));
  ranks_.clear();
  for (size_t i = 0; i < all.size(); i += 2) ranks_.push_back({all[i], all[i + 1]});
  return absl::OkStatus();
}

std::string FormatRankWaits(std::span<const RankWait> ranks) {
  BarChart chart = {.id = "ranks",
                    .title = "Waiting for other ranks, in per cent of training",
                    .pieces = {"waits"}};
  for (const size_t rank : LongestWaits(ranks, kMostBars)) {
    chart.rows.push_back({.name = StrCat("rank ", rank),
                          .values = {100 * Share(ranks[rank])},
                          .label = absl::StrFormat("%.1f %%", 100 * Share(ranks[rank]))});
  }
  HtmlTable table = {.caption = "Seconds of training, and of waiting for other ranks",
                     .columns = {"rank", "training", "waiting", "share"}};
  for (const size_t rank : LongestWaits(ranks, kMostRows)) {
    table.rows.push_back({StrCat(rank), HtmlNumber(ranks[rank].seconds),
                          HtmlNumber(ranks[rank].waited),
                          absl::StrFormat("%.1f %%", 100 * Share(ranks[rank]))});
  }
  std::string note;
  if (chart.rows.size() < ranks.size()) {
    note = StrCat("<p>The ", chart.rows.size(), " of ", ranks.size(),
                  " ranks that wait longest.</p>\n");
  }
  return StrCat(note, PictureGrid({DrawBars(chart)}), FoldedTable("Ranks as a table", table));
}

}  // namespace dtnn
