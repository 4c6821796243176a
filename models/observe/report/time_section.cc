#include "models/observe/report/time_section.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/str_format.h"
#include "models/observe/report/charts/bar_chart.h"
#include "models/observe/report/charts/html.h"
#include "models/observe/report/charts/page.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr size_t kMostLayers = 40;

enum Group : uint8_t { kCompute, kData, kExchange, kSave, kRest };

Group GroupOf(Activity activity) {
  switch (activity) {
    case Activity::kStep:
    case Activity::kEvaluate:
    case Activity::kForward:
    case Activity::kBackward:
    case Activity::kInference:
    case Activity::kLoss:
    case Activity::kUpdate:
      return kCompute;
    case Activity::kWaitForData:
    case Activity::kReadData:
      return kData;
    case Activity::kExchange:
    case Activity::kWaitForGradients:
    case Activity::kBarrier:
    case Activity::kBroadcast:
    case Activity::kAllReduce:
    case Activity::kAllGather:
    case Activity::kReduceScatter:
    case Activity::kAllToAll:
    case Activity::kSend:
    case Activity::kReceive:
      return kExchange;
    case Activity::kCheckpoint:
      return kSave;
    case Activity::kTraining:
    case Activity::kValidation:
    case Activity::kTest:
    case Activity::kMemory:
    case Activity::kEnergy:
      break;
  }
  return kRest;
}

std::string Share(double part, double whole) {
  return whole > 0 ? absl::StrFormat("%.1f %%", 100 * part / whole) : "-";
}

SvgPicture DrawActivities(const ActivitySeconds& all, const ActivitySeconds& last_epoch) {
  BarChart chart = {.id = "activities",
                    .title = "Time by activity, in per cent",
                    .pieces = {ActivitySeconds::kNames.begin(), ActivitySeconds::kNames.end()}};
  const auto add = [&](std::string_view name, const ActivitySeconds& seconds) {
    if (seconds.total() <= 0) return;
    BarChart::Row& row = chart.rows.emplace_back();
    row.name = name;
    row.label = RoundSeconds(seconds.total());
    for (const double part : seconds.seconds) row.values.push_back(100 * part / seconds.total());
  };
  add("all training", all);
  add("last epoch", last_epoch);
  return DrawBars(chart);
}

HtmlTable TableOfActivities(const ActivitySeconds& all) {
  HtmlTable table = {.caption = "Time by activity, of all training",
                     .columns = {"activity", "seconds", "share"}};
  for (size_t i = 0; i < all.seconds.size(); ++i) {
    table.rows.push_back({ActivitySeconds::kNames[i], HtmlNumber(all.seconds[i]),
                          Share(all.seconds[i], all.total())});
  }
  return table;
}

SvgPicture DrawLayers(const ProfileReport& report, double per_step) {
  std::vector<double> seconds;
  for (const ProfileReport::Layer& layer : report.layers) seconds.push_back(layer.seconds());
  std::ranges::sort(seconds, std::greater());
  const double least = seconds.size() > kMostLayers ? seconds[kMostLayers - 1] : 0;
  BarChart chart = {.id = "layers",
                    .title = "Time by layer, in milliseconds per step",
                    .pieces = {"forward", "backward", "update"}};
  for (const ProfileReport::Layer& layer : report.layers) {
    if (layer.seconds() < least || chart.rows.size() == kMostLayers) continue;
    chart.rows.push_back(
        {.name = layer.name,
         .values = {layer.forward * per_step, layer.backward * per_step, layer.update * per_step},
         .label = absl::StrFormat("%s ms, %.1f %%", RoundNumber(layer.seconds() * per_step),
                                  100 * layer.share)});
  }
  return DrawBars(chart);
}

HtmlTable TableOfLayers(const ProfileReport& report, double per_step) {
  // Memory: of the arena and of parameters with what belongs to them.
  HtmlTable table = {
      .caption = "Milliseconds per step",
      .columns = {"layer", "forward", "backward", "update", "share", "GFLOP/s", "memory, MB"}};
  const bool energy = std::ranges::any_of(
      report.layers, [](const ProfileReport::Layer& layer) { return layer.joules.has_value(); });
  if (energy) table.columns.push_back("joules");
  table.columns.push_back("computed by");
  for (const ProfileReport::Layer& layer : report.layers) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row = {HtmlText(layer.name),
           HtmlNumber(layer.forward * per_step),
           HtmlNumber(layer.backward * per_step),
           HtmlNumber(layer.update * per_step),
           absl::StrFormat("%.1f %%", 100 * layer.share),
           HtmlNumber(layer.flops_per_second * 1e-9),
           HtmlNumber((layer.arena + layer.parameters) * 1e-6)};
    if (energy) row.push_back(HtmlNumber(layer.joules.value_or(0)));
    row.push_back(HtmlText(layer.algorithms.empty() ? "-" : layer.algorithms));
  }
  return table;
}

}  // namespace

double ActivitySeconds::total() const { return std::reduce(seconds.begin(), seconds.end(), 0.0); }

ActivitySeconds ActivitySeconds::operator-(const ActivitySeconds& before) const {
  ActivitySeconds difference;
  for (size_t i = 0; i < seconds.size(); ++i) {
    difference.seconds[i] = std::max(seconds[i] - before.seconds[i], 0.0);
  }
  return difference;
}

ActivitySeconds SumActivities(const Profile& profile) {
  ActivitySeconds sums;
  for (int i = 0; i < kActivities; ++i) {
    const Activity activity = Activity(i);
    sums.seconds[GroupOf(activity)] += 1e-9 * double(profile.training(activity).nanoseconds);
  }
  return sums;
}

std::string FormatTimes(const ActivitySeconds& all, const ActivitySeconds& last_epoch,
                        const ProfileReport& report) {
  if (report.steps == 0) return "";
  const double per_step = 1e3 / double(report.steps);
  return StrCat(PictureGrid({DrawActivities(all, last_epoch), DrawLayers(report, per_step)}),
                FoldedTable("Time by activity as a table", TableOfActivities(all)),
                FoldedTable("Time by layer as a table", TableOfLayers(report, per_step)));
}

}  // namespace dtnn
