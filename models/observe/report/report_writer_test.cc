#include "models/observe/report/report_writer.h"

#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/callbacks/history.h"
#include "models/observe/report/report_name.h"
#include "models/observe/report/testing/page_checker.h"
#include "models/testing/training_session.h"
#include "optim/metrics/per_class_report.h"
#include "tensor/files/atomic_file.h"
#include "tensor/text/version.h"
#include "tensor/trace/observer.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckedPage;
using ::dtnn::testing::CheckPage;
using ::dtnn::testing::Element;
using ::dtnn::testing::PatternMlp;
using ::dtnn::testing::SessionOptions;
using ::dtnn::testing::TrainingSession;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string Path(const std::string& name) { return ::testing::TempDir() + "/" + name; }

std::string Read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Looks at the page after every epoch.
class Reader : public Callback {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}
  absl::Status OnEpochEnd(const Pass&, const Pass*) override {
    pages.push_back(Read(path_));
    return absl::OkStatus();
  }
  std::vector<std::string> pages;

 private:
  const std::string path_;
};

// A session that is reported.
struct Reported {
  explicit Reported(const std::string& path, const SessionOptions& options = {})
      : graph(PatternMlp()),
        session(graph, options),
        profile(int(graph.nodes().size())),
        writer({.path = path,
                .facts = {.network = "mlp"},
                .profile = &profile,
                .warn = [this](std::string_view line) { warnings.emplace_back(line); }},
               *session.trainer, graph, *session.store) {}

  absl::Status Train(int64_t epochs, std::vector<Callback*> more = {}) {
    const ScopedObserver watching(&profile);
    more.insert(more.begin(), &writer);
    return session.Train(epochs, more);
  }

  const Graph graph;
  TrainingSession session;
  Profile profile;
  std::vector<std::string> warnings;
  ReportWriter writer;
};

const Element* TableOf(const CheckedPage& page, std::string_view first_column) {
  for (const Element* table : page.root.All("table")) {
    if (table->All("th")[0]->text == first_column) return table;
  }
  return nullptr;
}

TEST(ReportWriterTest, ThePageGrowsWithEveryEpoch) {
  Reported run(Path("grows.html"));
  Reader reader(Path("grows.html"));
  ASSERT_TRUE(run.Train(3, {&reader}).ok());
  ASSERT_THAT(reader.pages, SizeIs(3));
  for (size_t i = 0; i < 3; ++i) {
    const CheckedPage page = CheckPage(reader.pages[i]);
    EXPECT_THAT(page.problems, IsEmpty());
    EXPECT_EQ(NumbersOf(*TableOf(page, "epoch")).size(), i + 1);
    EXPECT_THAT(page.root.text, HasSubstr("Training continues"));
  }
  run.writer.Finish(absl::OkStatus());
  EXPECT_THAT(Read(Path("grows.html")), HasSubstr("Training has ended: 3 of 3 epochs done."));
  EXPECT_THAT(run.warnings, IsEmpty());
}

TEST(ReportWriterTest, ThePageOfARunThatGoesOnHasTheEpochsBefore) {
  Reported run(Path("unused.html"));
  ReportEpoch earlier = {.epoch = 7, .metrics = {{"categorical_accuracy", 12.5}}};
  ReportWriter writer({.path = Path("goes_on.html"), .earlier = {earlier}}, *run.session.trainer,
                      run.graph, *run.session.store);
  ASSERT_TRUE(run.session.Train(1, {&writer}).ok());
  const CheckedPage page = CheckPage(Read(Path("goes_on.html")));
  EXPECT_THAT(page.problems, IsEmpty());
  const auto rows = NumbersOf(*TableOf(page, "epoch"));
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0][0], 7);
}

TEST(ReportWriterTest, ItsNumbersAreThoseOfTheHistory) {
  Reported run(Path("history.html"));
  const MetricSet metrics = run.session.trainer->engine().options().metric_set;
  std::filesystem::remove(Path("history.csv"));
  auto history = History::Create(Path("history.csv"), *run.session.trainer, metrics,
                                 /*validates=*/true, /*epochs_done=*/0);
  ASSERT_TRUE(history.ok()) << history.status();
  ASSERT_TRUE(run.Train(4, {history->get()}).ok());
  const std::string text = Read(Path("history.html"));
  EXPECT_THAT(text, HasSubstr("<footer>DTNN " + std::string(Version()) + "</footer>"));
  const CheckedPage page = CheckPage(text);
  const auto rows = NumbersOf(*TableOf(page, "epoch"));
  std::istringstream lines(Read(Path("history.csv")));
  std::string line;
  std::getline(lines, line);
  ASSERT_EQ(line,
            "epoch,learning_rate,categorical_cross_entropy,categorical_accuracy,"
            "val_categorical_cross_entropy,val_categorical_accuracy");
  for (const std::vector<double>& row : rows) {
    ASSERT_TRUE(std::getline(lines, line));
    std::vector<double> values;
    std::istringstream words(line);
    for (std::string word; std::getline(words, word, ',');) values.push_back(std::stod(word));
    ASSERT_EQ(values.size(), 6u);
    EXPECT_EQ(row[0], values[0]);
    EXPECT_EQ(row[5], values[1]) << "the learning rate stands after the metrics";
    for (size_t i = 1; i < 5; ++i) EXPECT_EQ(row[i], values[i + 1]);
    EXPECT_GT(row[6], 0) << "samples per second";
  }
}

TEST(ReportWriterTest, EveryValidationSampleIsCountedOnce) {
  Reported run(Path("confusion.html"));
  ASSERT_TRUE(run.Train(2).ok());
  const RunReport& report = run.writer.report();
  EXPECT_EQ(report.confusion.classes, 4);
  EXPECT_EQ(report.confusion.samples(), 12) << "a fifth of 60";
  const double accuracy = MetricOf(report.epochs.back(), "val_categorical_accuracy");
  EXPECT_DOUBLE_EQ(100.0 * double(report.confusion.right()) / 12, accuracy);
  const int64_t wrong = 12 - report.confusion.right();
  EXPECT_EQ(int64_t(report.wrong_images.size()), wrong);
}

// Its mean is that of f1_score, so a curve would say nothing.
TEST(ReportWriterTest, AMetricThatIsATableIsShownAsOne) {
  SessionOptions options;
  options.training.metric_set.metrics.push_back(std::make_shared<PerClassReport>());
  for (const double validation_split : {0.2, 0.0}) {
    options.validation_split = validation_split;
    Reported run(Path("table.html"), options);
    ASSERT_TRUE(run.Train(1).ok());
    const CheckedPage page = CheckPage(Read(Path("table.html")));
    EXPECT_THAT(page.problems, IsEmpty());
    const std::vector<const Element*> tables = page.root.All("pre");
    ASSERT_THAT(tables, SizeIs(1));
    EXPECT_THAT(tables[0]->text, HasSubstr("precision"));
    EXPECT_THAT(page.root.text, Not(HasSubstr("per class report")));
    EXPECT_EQ(run.writer.report().epochs[0].metrics.size(), validation_split > 0 ? 4u : 2u);
  }
  ReportEpoch earlier = {.epoch = 7, .metrics = {{"val_per_class_report", 0.5}, {"x", 1}}};
  Reported run(Path("unused.html"), options);
  const ReportWriter writer({.path = Path("goes_on.html"), .earlier = {earlier}},
                            *run.session.trainer, run.graph, *run.session.store);
  EXPECT_EQ(writer.report().epochs[0].metrics.size(), 1u);
}

TEST(ReportWriterTest, ResultsOfTheTestStandOnThePage) {
  Reported run(Path("test.html"));
  ASSERT_TRUE(run.Train(1).ok());
  EXPECT_THAT(Read(Path("test.html")), Not(HasSubstr("On the test data")));
  run.writer.SetTest({{"categorical_accuracy", 87.5}});
  run.writer.Finish(absl::OkStatus());
  const CheckedPage page = CheckPage(Read(Path("test.html")));
  EXPECT_THAT(page.problems, IsEmpty());
  EXPECT_THAT(page.root.text, HasSubstr("On the test data, after training"));
  EXPECT_THAT(page.root.text, HasSubstr("87.5"));
}

TEST(ReportWriterTest, TimesMemoryAndNormsAreThere) {
  SessionOptions options;
  options.training.clip_norm = 1e9;
  Reported run(Path("times.html"), options);
  ASSERT_TRUE(run.Train(2).ok());
  const RunReport& report = run.writer.report();
  ASSERT_TRUE(report.profile.has_value());
  EXPECT_GT(report.activities.seconds[0], report.last_epoch.seconds[0]);
  EXPECT_GT(report.last_epoch.seconds[0], 0);
  EXPECT_FALSE(report.buffers.empty());
  int last = 0;
  for (const MemoryBuffer& buffer : report.buffers) {
    last = std::max(last, buffer.last);
    EXPECT_FALSE(buffer.name.empty());
    EXPECT_LE(buffer.offset + buffer.bytes, double(report.memory.arena));
  }
  EXPECT_EQ(report.moments, last + 1) << "at the last the caller reads the predictions";
  EXPECT_GT(report.epochs[0].gradient_norm, 0);
  const CheckedPage page = CheckPage(Read(Path("times.html")));
  EXPECT_THAT(page.problems, IsEmpty());
  EXPECT_THAT(page.root.text, HasSubstr("2_FC, forward: "));
  EXPECT_NE(TableOf(page, "activity"), nullptr);
  EXPECT_NE(TableOf(page, "layer"), nullptr);
}

// Adds up the norms of an epoch's updates.
struct NormsOfUpdates : Callback {
  explicit NormsOfUpdates(const StepEngine& stepper) : engine(stepper) {}
  absl::Status OnBatchEnd(const Pass& pass) override {
    if (pass.kind != Pass::Kind::kTraining || !engine.settled()) return absl::OkStatus();
    sum += *engine.gradient_norm();
    ++updates;
    return absl::OkStatus();
  }
  absl::Status OnEpochEnd(const Pass&, const Pass*) override {
    means.push_back(std::exchange(sum, 0) / std::exchange(updates, 0));
    return absl::OkStatus();
  }

  const StepEngine& engine;
  double sum = 0;
  int updates = 0;
  std::vector<double> means;
};

TEST(ReportWriterTest, WithClippingTheNormIsTheMeanOfAnEpochsUpdates) {
  SessionOptions options;
  options.training.accumulate_steps = 4;  // of six batches
  options.training.clip_norm = 1e9;
  Reported run(Path("norms.html"), options);
  NormsOfUpdates norms(run.session.trainer->engine());
  ASSERT_EQ(run.Train(2, {&norms}), absl::OkStatus());
  ASSERT_THAT(norms.means, SizeIs(2));
  EXPECT_NE(norms.means[0], norms.means[1]);
  for (size_t epoch = 0; epoch < 2; ++epoch) {
    EXPECT_DOUBLE_EQ(run.writer.report().epochs[epoch].gradient_norm, norms.means[epoch]);
  }
}

// Without clipping, of an epoch's last update: what clipping that never happens measures there.
TEST(ReportWriterTest, TheNormOfGradientsIsThereWithoutClipping) {
  for (const int64_t accumulate_steps : {1, 2}) {
    SessionOptions options;
    options.training.accumulate_steps = accumulate_steps;
    Reported plain(Path("norm.html"), options);
    ASSERT_TRUE(plain.Train(2).ok());
    options.training.clip_norm = 1e9;
    TrainingSession clipped(PatternMlp(), options);
    for (int epoch = 0; epoch < 2; ++epoch) {
      ASSERT_TRUE(clipped.Train(epoch + 1).ok());
      const double expected = *clipped.trainer->engine().gradient_norm();
      EXPECT_NEAR(plain.writer.report().epochs[size_t(epoch)].gradient_norm, expected,
                  1e-9 * expected)
          << "epoch " << epoch << ", accumulated over " << accumulate_steps;
    }
    EXPECT_NE(TableOf(CheckPage(Read(Path("norm.html"))), "epoch"), nullptr);
    EXPECT_THAT(Read(Path("norm.html")), HasSubstr("gradient norm"));
  }
}

TEST(ReportWriterTest, EnergyIsThereWhereItIsKnown) {
  const Graph graph = PatternMlp();
  TrainingSession session(graph);
  int asked = 0;
  ReportWriter writer({.path = Path("energy.html"),
                       .joules = [&]() -> std::optional<double> {
                         return ++asked == 2 ? std::optional(96.0) : std::nullopt;
                       }},
                      *session.trainer, graph, *session.store);
  ASSERT_TRUE(session.Train(2, {&writer}).ok());
  EXPECT_TRUE(std::isnan(writer.report().epochs[0].joules));
  EXPECT_EQ(writer.report().epochs[1].joules, 96);
  EXPECT_EQ(writer.report().epochs[1].joules_per_sample, 2) << "of 48 samples";
  EXPECT_THAT(Read(Path("energy.html")), HasSubstr("joules per sample"));
}

// The run's numbers are the same with and without.
TEST(ReportWriterTest, TrainingIsNotDisturbed) {
  Reported run(Path("same.html"));
  ASSERT_TRUE(run.Train(3).ok());
  TrainingSession plain(PatternMlp());
  ASSERT_TRUE(plain.Train(3).ok());
  EXPECT_EQ(run.session.record.losses, plain.record.losses);
  EXPECT_EQ(run.session.record.validation_losses, plain.record.validation_losses);
}

int FailWrites(std::string_view step) { return step == "write" ? ENOSPC : 0; }

TEST(ReportWriterTest, AFullDiskIsOneWarningAndTheOldPageStays) {
  const std::string path = Path("full.html");
  Reported run(path);
  ASSERT_TRUE(run.Train(1).ok());
  const std::string before = Read(path);
  internal::SetFileFaultHookForTesting(FailWrites);
  const absl::Status status = run.Train(3);
  internal::SetFileFaultHookForTesting(nullptr);
  EXPECT_TRUE(status.ok()) << status;
  ASSERT_THAT(run.warnings, SizeIs(1));
  EXPECT_THAT(run.warnings[0], StartsWith("the report is not written: " + path));
  EXPECT_EQ(Read(path), before);
  ASSERT_TRUE(run.Train(4).ok());
  EXPECT_EQ(NumbersOf(*TableOf(CheckPage(Read(path)), "epoch")).size(), 4u) << "nothing is lost";
}

TEST(ReportWriterTest, NamesEndInHtml) {
  EXPECT_TRUE(IsReportName("a/b.html"));
  EXPECT_TRUE(IsReportName("a.HTM"));
  EXPECT_FALSE(IsReportName("a.pdf"));
  EXPECT_FALSE(IsReportName("html"));
}

}  // namespace
}  // namespace dtnn
