// Every number that an option takes at the ends of its range, in a run of the program: either the
// run is right, or what refuses it names the flag or says that the loss is NaN.

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "apps/testing/process.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

// A run of a moment, in which every scheduler but the checkpoint's has its say; it ends after one
// epoch, however many were asked for.
constexpr char kRun[] =
    "--model=simplemlp --dataset=synthetic --synthetic-input-shape=1,8,8 "
    "--synthetic-output-shape=3 --synthetic-train-samples=20 --synthetic-test-samples=5 "
    "--synthetic-pattern=classes --batch-size=4 --loader-threads=1 "
    "--schedulers=warm_up,early_stopping,reduce_lr_on_plateau,reduce_lr_every_nepochs,"
    "stop_at_loss,cosine "
    "--stop-at-loss-metric=categorical_cross_entropy --stop-at-loss-threshold=1e38 ";

// What makes the option count.
std::string Companion(std::string_view name) {
  struct Row {
    std::string_view prefix, arguments;
  };
  constexpr Row kRows[] = {
      {"optimizer-beta", "--optimizer=adam"},
      {"optimizer-epsilon", "--optimizer=adam"},
      {"optimizer-density", "--optimizer=oktopk"},
      {"optimizer-tau", "--optimizer=oktopk"},
      {"optimizer-rho", "--optimizer=rmsprop"},
      {"augment-flip", "--augment-flip"},
      {"augment-crop-prob", "--augment-crop --augment-crop-size=4"},
      {"augment-crop", "--augment-crop"},
      {"transform-square", "--transform-square"},
      {"transform-crop", "--transform-crop"},
      {"normalize", "--normalize"},
      {"cpu-speed", "--profile"},
      {"memory-bw", "--profile"},
      {"network-", "--profile --parallel=data --transport=tcp"},
      {"checkpoint", "--checkpoint-dir=$TEST_TMPDIR/checkpoints"},
      {"model-sync", "--parallel=data --transport=tcp"},
      {"comm-bucket", "--parallel=data --transport=tcp --use-blocking-mpi=False"},
      {"comm", "--parallel=data --transport=tcp"},
      {"model-checkpoint", "--schedulers=model_checkpoint --model-dir=$TEST_TMPDIR"},
  };
  for (const Row& row : kRows) {
    if (name.starts_with(row.prefix)) return std::string(row.arguments) + " ";
  }
  return "";
}

// Numbers that are right, but need the memory or the time of a large machine.
bool IsASize(std::string_view name) {
  return name.ends_with("batch-size") || name.starts_with("synthetic-") ||
         name == "transform-resize-size" || name == "steps-per-epoch" ||
         name == "dataset-percentage";
}

std::vector<std::string> Ends(const OptionSpec& spec) {
  const Range& range = spec.range;
  const auto text = [&](double end) {
    return spec.type == OptionType::kInt ? FormatValue(Value(int64_t(end)))
                                         : FormatValue(Value(end));
  };
  std::vector<std::string> ends = {
      text(range.low_open ? std::nextafter(range.low, range.high) : range.low),
      text(range.high_open ? std::nextafter(range.high, range.low) : range.high)};
  if (range.hole > 0) ends.push_back(text(range.hole));
  return ends;
}

class RangeEndsTest : public ::testing::TestWithParam<OptionSpec> {};

TEST_P(RangeEndsTest, AreTakenOrRefusedByName) {
  const OptionSpec& spec = GetParam();
  const std::string name(spec.name);
  setenv("DTNN_JOB_SECRET", "0123456789abcdef0123456789abcdef", 1);  // for --transport=tcp
  setenv("PYMPI_RANK", "0", 1);
  setenv("PYMPI_SIZE", "1", 1);
  for (const std::string& end : Ends(spec)) {
    std::filesystem::remove_all(::testing::TempDir() + "/checkpoints");
    const testing::Outcome outcome = testing::Launch(
        "apps/benchmark", std::string(kRun) + Companion(name) + "--" + name + "=" + end);
    const bool named = outcome.text.find(": --" + name + "=" + end) != std::string::npos ||
                       outcome.text.find("benchmark: the loss is ") != std::string::npos;
    EXPECT_TRUE(outcome.exit_code == 0 || named) << end << "\n" << outcome.text;
    EXPECT_TRUE(named || outcome.text.find(": nan") == std::string::npos) << end << "\n"
                                                                          << outcome.text;
  }
}

std::vector<OptionSpec> Numbers() {
  std::vector<OptionSpec> numbers;
  for (const OptionSpec& spec : OptionTable()) {
    const bool number = spec.type == OptionType::kInt || spec.type == OptionType::kReal ||
                        spec.type == OptionType::kReals;
    const bool bounded = std::isfinite(spec.range.low);
    if (number && bounded && !IsASize(spec.name)) numbers.push_back(spec);
  }
  return numbers;
}

INSTANTIATE_TEST_SUITE_P(Table, RangeEndsTest, ::testing::ValuesIn(Numbers()),
                         [](const auto& info) {
                           std::string name(info.param.name);
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace dtnn
