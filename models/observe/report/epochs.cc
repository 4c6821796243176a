#include "models/observe/report/epochs.h"

#include <algorithm>
#include <cmath>

#include "models/observe/report/charts/line_chart.h"
#include "models/observe/report/metric_title.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr size_t kMostRows = 1000;

// The names of all epochs' metrics, in the order in which they are first seen.
std::vector<std::string> MetricNames(const std::vector<ReportEpoch>& epochs) {
  std::vector<std::string> names;
  for (const ReportEpoch& epoch : epochs) {
    for (const auto& [name, value] : epoch.metrics) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

template <typename ValueOf>
LineSeries SeriesOf(const std::vector<ReportEpoch>& epochs, std::string name, ValueOf value_of) {
  LineSeries series = {.name = std::move(name)};
  for (const ReportEpoch& epoch : epochs) {
    series.x.push_back(double(epoch.epoch));
    series.y.push_back(value_of(epoch));
  }
  return series;
}

bool HasValues(const LineSeries& series) {
  return std::ranges::any_of(series.y, [](double value) { return std::isfinite(value); });
}

struct Column {
  std::string name;
  double ReportEpoch::*value;
};

const Column kColumns[] = {
    {"learning rate", &ReportEpoch::learning_rate},
    {"gradient norm", &ReportEpoch::gradient_norm},
    {"samples/s", &ReportEpoch::samples_per_second},
    {"seconds per epoch", &ReportEpoch::seconds},
    {"joules", &ReportEpoch::joules},
    {"joules per sample", &ReportEpoch::joules_per_sample},
};

bool IsKnown(const std::vector<ReportEpoch>& epochs, double ReportEpoch::*value) {
  return std::ranges::any_of(epochs,
                             [&](const ReportEpoch& epoch) { return !std::isnan(epoch.*value); });
}

}  // namespace

double MetricOf(const ReportEpoch& epoch, std::string_view metric) {
  for (const auto& [name, value] : epoch.metrics) {
    if (name == metric) return value;
  }
  return ReportEpoch::kUnknown;
}

std::vector<SvgPicture> DrawEpochs(const std::vector<ReportEpoch>& epochs) {
  std::vector<SvgPicture> pictures;
  const std::vector<std::string> names = MetricNames(epochs);
  const auto add = [&](LineChart chart) {
    chart.id = StrCat("curve", pictures.size() + 1);
    pictures.push_back(DrawLines(chart));
  };
  for (const std::string& name : names) {
    const bool validation = name.starts_with("val_");
    if (validation && std::ranges::count(names, name.substr(4)) > 0) continue;
    LineChart chart = {.title = MetricTitle(name)};
    chart.series.push_back(
        SeriesOf(epochs, validation ? "validation" : "training",
                 [&](const ReportEpoch& epoch) { return MetricOf(epoch, name); }));
    const std::string other = "val_" + name;
    if (std::ranges::count(names, other) > 0) {
      chart.series.push_back(SeriesOf(
          epochs, "validation", [&](const ReportEpoch& epoch) { return MetricOf(epoch, other); }));
    }
    add(std::move(chart));
  }
  for (const Column& column : kColumns) {
    if (!IsKnown(epochs, column.value)) continue;
    LineSeries series = SeriesOf(epochs, column.name,
                                 [&](const ReportEpoch& epoch) { return epoch.*column.value; });
    if (!HasValues(series)) continue;
    add({.title = column.name, .series = {std::move(series)}, .from_zero = true});
  }
  return pictures;
}

HtmlTable TableOfEpochs(const std::vector<ReportEpoch>& epochs) {
  HtmlTable table = {.columns = {"epoch"}};
  const std::vector<std::string> names = MetricNames(epochs);
  std::vector<const Column*> columns;
  for (const std::string& name : names) table.columns.push_back(MetricTitle(name));
  for (const Column& column : kColumns) {
    if (!IsKnown(epochs, column.value)) continue;
    table.columns.push_back(column.name);
    columns.push_back(&column);
  }
  const size_t every = (epochs.size() + kMostRows - 1) / kMostRows;
  if (every > 1) table.caption = StrCat("Every ", every, "th epoch, and the last");
  for (size_t i = 0; i < epochs.size(); ++i) {
    if (i % every != 0 && i + 1 != epochs.size()) continue;
    std::vector<std::string>& row = table.rows.emplace_back();
    row.push_back(StrCat(epochs[i].epoch));
    for (const std::string& name : names) row.push_back(HtmlNumber(MetricOf(epochs[i], name)));
    for (const Column* column : columns) row.push_back(HtmlNumber(epochs[i].*column->value));
  }
  return table;
}

int BestEpoch(const std::vector<ReportEpoch>& epochs, std::string_view metric, Better better) {
  int best = -1;
  for (size_t i = 0; i < epochs.size(); ++i) {
    const double value = MetricOf(epochs[i], metric);
    if (std::isnan(value)) continue;
    if (best < 0 || IsBetter(better, value, MetricOf(epochs[size_t(best)], metric))) best = int(i);
  }
  return best;
}

HtmlTable TableOfResults(const std::vector<ReportEpoch>& epochs, const BetterOfMetrics& better) {
  HtmlTable table = {.columns = {"metric", "last", "best", "in epoch"}};
  if (epochs.empty()) return table;
  for (const std::string& name : MetricNames(epochs)) {
    const auto known = std::ranges::find(better, name, [](const auto& pair) { return pair.first; });
    const int best = known == better.end() ? -1 : BestEpoch(epochs, name, known->second);
    table.rows.push_back({HtmlText(MetricTitle(name)), HtmlNumber(MetricOf(epochs.back(), name)),
                          best < 0 ? "-" : HtmlNumber(MetricOf(epochs[size_t(best)], name)),
                          best < 0 ? "-" : StrCat(epochs[size_t(best)].epoch)});
  }
  return table;
}

}  // namespace dtnn
