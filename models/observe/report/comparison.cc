#include "models/observe/report/comparison.h"

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/str_format.h"
#include "models/observe/report/charts/html.h"
#include "models/observe/report/charts/line_chart.h"
#include "models/observe/report/charts/page.h"
#include "models/observe/report/metric_title.h"
#include "tensor/text/counted.h"
#include "tensor/text/one_line.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr std::string_view kLearningRate = "learning_rate";

HtmlTable TableOfRuns(const std::string& metric, const std::vector<ComparedRun>& runs) {
  HtmlTable table = {.caption = MetricTitle(metric),
                     .columns = {"run", "epochs", "last", "best", "in epoch"}};
  for (const ComparedRun& run : runs) {
    const MetricResult result = ResultOf(run, metric);
    table.rows.push_back({HtmlText(run.name), StrCat(run.epochs.size()), HtmlNumber(result.last),
                          HtmlNumber(result.best),
                          result.best_epoch == 0 ? "-" : StrCat(result.best_epoch)});
  }
  return table;
}

// The metrics that any run has on the test data, in the order in which they are first seen.
std::vector<std::string> TestMetricsOfRuns(const std::vector<ComparedRun>& runs) {
  std::vector<std::string> names;
  for (const ComparedRun& run : runs) {
    for (const auto& [name, value] : run.test) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

double TestOf(const ComparedRun& run, std::string_view metric) {
  return MetricOf(ReportEpoch{.metrics = run.test}, metric);
}

// A row per run; empty where no run has results.
std::string TableOfTests(const std::vector<ComparedRun>& runs) {
  const std::vector<std::string> metrics = TestMetricsOfRuns(runs);
  if (metrics.empty()) return "";
  HtmlTable table = {.caption = "On the test data, after training", .columns = {"run"}};
  for (const std::string& metric : metrics) table.columns.push_back(MetricTitle(metric));
  for (const ComparedRun& run : runs) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row.push_back(HtmlText(run.name));
    for (const std::string& metric : metrics) row.push_back(HtmlNumber(TestOf(run, metric)));
  }
  return FormatHtmlTable(table);
}

std::string SettingOf(const ComparedRun& run, std::string_view setting) {
  for (const auto& [name, value] : run.settings) {
    if (name == setting && !value.empty()) return OneLine(value, 200);
  }
  return "-";
}

// The names of settings, each list in the order in which they are first seen.
struct SettingNames {
  std::vector<std::string> different = {};  // all where fewer than two runs say theirs
  std::vector<std::string> equal = {};      // of all runs that say any
};

SettingNames SettingsOfRuns(const std::vector<ComparedRun>& runs) {
  SettingNames names;
  std::vector<const ComparedRun*> known;
  for (const ComparedRun& run : runs) {
    if (!run.settings.empty()) known.push_back(&run);
  }
  std::set<std::string_view> seen;
  for (const ComparedRun* const run : known) {
    for (const auto& [name, value] : run->settings) {
      if (!seen.insert(name).second) continue;
      const std::string first = SettingOf(*known[0], name);
      const bool equal =
          known.size() > 1 && std::ranges::all_of(known, [&](const ComparedRun* const other) {
            return SettingOf(*other, name) == first;
          });
      (equal ? names.equal : names.different).push_back(name);
    }
  }
  return names;
}

// A row per setting, so that what differs stands beside each other. Empty where there is none.
std::string TableOfSettings(const std::vector<std::string>& settings, std::string_view caption,
                            const std::vector<ComparedRun>& runs) {
  HtmlTable table = {.caption = std::string(caption), .columns = {"setting"}};
  for (const ComparedRun& run : runs) table.columns.push_back(run.name);
  for (const std::string& setting : settings) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row.push_back(HtmlText(setting));
    for (const ComparedRun& run : runs) row.push_back(HtmlText(SettingOf(run, setting)));
  }
  return table.rows.empty() ? std::string() : FormatHtmlTable(table);
}

}  // namespace

MetricResult ResultOf(const ComparedRun& run, std::string_view metric) {
  MetricResult result;
  if (run.epochs.empty()) return result;
  result.last = MetricOf(run.epochs.back(), metric);
  const std::optional<Better> better = BetterByName(metric);
  const int best = better ? BestEpoch(run.epochs, metric, *better) : -1;
  if (best < 0) return result;
  result.best = MetricOf(run.epochs[size_t(best)], metric);
  result.best_epoch = run.epochs[size_t(best)].epoch;
  return result;
}

std::vector<std::string> MetricsOfRuns(const std::vector<ComparedRun>& runs) {
  std::vector<std::string> names;
  for (const ComparedRun& run : runs) {
    if (run.epochs.empty()) continue;
    for (const auto& [name, value] : run.epochs.front().metrics) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

SvgPicture DrawRuns(std::string_view id, std::string_view metric,
                    const std::vector<ComparedRun>& runs) {
  LineChart chart = {.id = std::string(id), .title = MetricTitle(metric)};
  for (const ComparedRun& run : runs) {
    LineSeries& series = chart.series.emplace_back();
    series.name = run.name;
    for (const ReportEpoch& epoch : run.epochs) {
      series.x.push_back(double(epoch.epoch));
      series.y.push_back(metric == kLearningRate ? epoch.learning_rate : MetricOf(epoch, metric));
    }
  }
  return DrawLines(chart);
}

std::string FormatComparison(const std::vector<ComparedRun>& runs) {
  std::string html =
      StrCat("<h1>", Counted(int64_t(runs.size()), "run"), " beside each other</h1>\n");
  const std::vector<std::string> metrics = MetricsOfRuns(runs);
  std::string tables;
  std::vector<SvgPicture> pictures;
  for (const std::string& metric : metrics) {
    tables += FormatHtmlTable(TableOfRuns(metric, runs));
    pictures.push_back(DrawRuns(StrCat("curve", pictures.size() + 1), metric, runs));
  }
  pictures.push_back(DrawRuns("rates", kLearningRate, runs));
  html += PageSection("curves", "Curves", PictureGrid(pictures));
  html += PageSection("results", "Results", tables + TableOfTests(runs));
  const SettingNames settings = SettingsOfRuns(runs);
  html += PageSection(
      "settings", "How they were trained",
      StrCat(TableOfSettings(settings.different,
                             settings.equal.empty() ? "Settings" : "Settings that differ", runs),
             TableOfSettings(settings.equal, "Settings that are equal", runs)));
  for (size_t i = 0; i < runs.size(); ++i) {
    html += FoldedTable(StrCat("All epochs of ", runs[i].name), TableOfEpochs(runs[i].epochs));
  }
  return FormatPage("Runs beside each other", html);
}

std::string FormatComparisonText(const std::vector<ComparedRun>& runs) {
  size_t width = 3;
  for (const ComparedRun& run : runs) width = std::max(width, OneLine(run.name).size());
  std::string text = absl::StrFormat("%-*s  %-32s %12s %12s %9s\n", int(width), "run", "metric",
                                     "last", "best", "in epoch");
  for (const std::string& metric : MetricsOfRuns(runs)) {
    for (const ComparedRun& run : runs) {
      const MetricResult result = ResultOf(run, metric);
      absl::StrAppendFormat(&text, "%-*s  %-32s %12s %12s %9s\n", int(width), OneLine(run.name),
                            metric, RoundNumber(result.last), RoundNumber(result.best),
                            result.best_epoch == 0 ? "-" : StrCat(result.best_epoch));
    }
  }
  for (const std::string& metric : TestMetricsOfRuns(runs)) {
    for (const ComparedRun& run : runs) {
      absl::StrAppendFormat(&text, "%-*s  %-32s %12s %12s %9s\n", int(width), OneLine(run.name),
                            StrCat("test_", metric), RoundNumber(TestOf(run, metric)), "-", "-");
    }
  }
  const SettingNames settings = SettingsOfRuns(runs);
  for (const std::string& setting : settings.different) {
    for (const ComparedRun& run : runs) {
      absl::StrAppendFormat(&text, "%-*s  %-32s %s\n", int(width), OneLine(run.name), setting,
                            SettingOf(run, setting));
    }
  }
  for (const std::string& setting : settings.equal) {
    const auto known =
        std::ranges::find_if(runs, [](const ComparedRun& run) { return !run.settings.empty(); });
    absl::StrAppendFormat(&text, "%-*s  %-32s %s\n", int(width), "all", setting,
                          SettingOf(*known, setting));
  }
  return text;
}

}  // namespace dtnn
