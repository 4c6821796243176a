#include "models/observe/report/run_report.h"

#include "absl/strings/str_format.h"
#include "models/graph/table.h"
#include "models/observe/report/charts/html.h"
#include "models/observe/report/charts/page.h"
#include "models/observe/report/metric_title.h"
#include "models/observe/report/rate_section.h"
#include "tensor/text/counted.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr int kReloadSeconds = 30;
constexpr size_t kLargestBuffers = 20;

std::string DescribeState(const RunReport& report) {
  const int64_t done = report.epochs.empty() ? 0 : report.epochs.back().epoch;
  const std::string epochs = StrCat(done, " of ", Counted(report.epochs_wanted, "epoch"));
  switch (report.state) {
    case ReportState::kRunning:
      return StrCat("<p role=\"status\"><strong>Training continues: ", epochs,
                    " done.</strong> This page is written anew after each epoch, and reloads "
                    "every ",
                    kReloadSeconds, " seconds until then.</p>\n");
    case ReportState::kDone:
      return StrCat("<p role=\"status\"><strong>Training has ended: ", epochs,
                    " done.</strong></p>\n");
    case ReportState::kFailed:
      break;
  }
  return StrCat("<p role=\"status\"><strong>Training has stopped: ", epochs, " done.</strong> ",
                HtmlText(report.end), "</p>\n");
}

std::string Lines(std::string_view text) {
  std::string html;
  for (;;) {
    const size_t end = text.find('\n');
    html += HtmlText(text.substr(0, end));
    if (end == text.npos) return html;
    html += '\n';
    text.remove_prefix(end + 1);
  }
}

std::string Introduction(const RunReport& report) {
  const ReportFacts& facts = report.facts;
  std::string html = StrCat("<h1>Training of ", HtmlText(facts.network), "</h1>\n");
  if (!facts.sentence.empty()) StrAppend(&html, "<p>", HtmlText(facts.sentence), "</p>\n");
  html += DescribeState(report);
  if (!facts.machine.empty()) StrAppend(&html, "<p>On ", HtmlText(facts.machine), ".</p>\n");
  if (!facts.command.empty()) {
    StrAppend(&html, "<p>The same run again:</p>\n<pre><code>", Lines(facts.command),
              "</code></pre>\n");
  }
  return html;
}

std::string Memory(const RunReport& report) {
  if (report.buffers.empty()) return "";
  const PlanMemory& memory = report.memory;
  HtmlTable table = {.columns = {"memory", "bytes"}};
  for (const auto& [name, bytes] :
       {std::pair("parameters, their gradients, optimizer state", report.parameter_bytes),
        {"arena of activations and their gradients", double(memory.arena)},
        {"workspace of all layers", double(memory.workspace)},
        {"kept by layers from step to step", double(memory.kept)}}) {
    table.rows.push_back(
        {name, StrCat("<data value=\"", int64_t(bytes), "\">", FormatBytes(bytes), "</data>")});
  }
  return StrCat(PictureGrid({DrawMemory("memory", report.buffers, report.moments)}),
                FormatHtmlTable(table),
                FoldedTable("The largest buffers as a table",
                            LargestBuffers(report.buffers, kLargestBuffers)));
}

HtmlTable TableOfTest(const NamedMetrics& metrics) {
  HtmlTable table = {.columns = {"metric", "value"}};
  for (const auto& [name, value] : metrics) {
    table.rows.push_back({HtmlText(MetricTitle(name)), HtmlNumber(value)});
  }
  return table;
}

// Above what is not of all ranks, unlike metrics.
std::string OneRankOnly(const RunReport& report, std::string_view what) {
  if (report.ranks.size() < 2) return "";
  return StrCat("<p>", what, " of the rank that writes this page, one of ", report.ranks.size(),
                "; metrics are those of all.</p>\n");
}

}  // namespace

std::string FormatRunReport(const RunReport& report) {
  std::string html = Introduction(report);
  if (!report.epochs.empty()) {
    html += PageSection("results", "Results",
                        FormatHtmlTable(TableOfResults(report.epochs, report.better)));
    html += PageSection("curves", "Curves",
                        StrCat(PictureGrid(DrawEpochs(report.epochs)),
                               FoldedTable("All epochs as a table", TableOfEpochs(report.epochs))));
  }
  html += PageSection("rate-test", "How the learning rate was found", FormatRates(report.rates));
  if (!report.test.empty()) {
    html += PageSection("test", "On the test data, after training",
                        FormatHtmlTable(TableOfTest(report.test)));
  }
  if (!report.tables.empty()) {
    html += PageSection("tables", "Metrics that are tables, in the last epoch",
                        StrCat("<pre>", Lines(report.tables), "</pre>\n"));
  }
  if (report.confusion.classes > 0) {
    html += PageSection("confusion", "Confusion matrix of the last validation",
                        FormatConfusion(report.confusion, report.facts.class_names));
  }
  if (!report.wrong_images.empty()) {
    html += PageSection("wrong", "Most certain and wrong, in the last validation",
                        OneRankOnly(report, "Images") +
                            FormatWrongImages(report.wrong_images, report.facts.class_names));
  }
  if (!report.wrong_values.empty()) {
    html += PageSection("wrong",
                        report.labels ? "Most wrong labels, in the last validation"
                                      : "Largest deviations, in the last validation",
                        OneRankOnly(report, "Samples") +
                            FormatWrongValues(report.wrong_values, report.labels, report.outputs,
                                              report.facts.class_names));
  }
  if (report.profile) {
    html += PageSection("times", "Where the time goes",
                        OneRankOnly(report, "Times") +
                            FormatTimes(report.activities, report.last_epoch, *report.profile));
  }
  if (report.ranks.size() > 1) {
    html += PageSection("rank-waits", "How long ranks wait for each other",
                        FormatRankWaits(report.ranks));
  }
  html += PageSection("memory-plan", "Where the memory goes", Memory(report));
  return FormatPage(StrCat("Training of ", report.facts.network), html,
                    report.state == ReportState::kRunning ? kReloadSeconds : 0);
}

}  // namespace dtnn
