#include "apps/sweep/table.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

SweptRun RunOf(const std::string& value, const std::vector<double>& losses, double accuracy) {
  SweptRun run = {.values = {value}};
  for (const double loss : losses) {
    run.run.epochs.push_back({.epoch = int64_t(run.run.epochs.size()) + 1,
                              .metrics = {{"categorical_cross_entropy", 1},
                                          {"val_categorical_cross_entropy", loss},
                                          {"val_categorical_accuracy", accuracy}}});
  }
  return run;
}

TEST(TableTest, TheLeastLossOfValidationComesFirst) {
  std::vector<SweptRun> runs = {RunOf("a", {.5, .7}, 60),
                                {.values = {"none"}},
                                RunOf("b", {.9, .25, .8}, 70.25),
                                RunOf("long value", {.5}, 61)};
  SortByLoss(runs);
  EXPECT_EQ(FormatTable({"option"}, runs),
            "    option  epochs  categorical_cross_entropy  val_categorical_cross_entropy  "
            "val_categorical_accuracy\n"
            "         b       3                          1                           0.25  "
            "                   70.25\n"
            "         a       2                          1                            0.5  "
            "                      60\n"
            "long value       1                          1                            0.5  "
            "                      61\n"
            "      none       0                          -                              -  "
            "                       -\n");
}

TEST(TableTest, WithoutValidationTheLossOfTrainingDecides) {
  std::vector<SweptRun> runs = {{.values = {"a"}}, {.values = {"b"}}};
  runs[0].run.epochs = {{.epoch = 1, .metrics = {{"mse", 2}}}};
  runs[1].run.epochs = {{.epoch = 1, .metrics = {{"mse", 1}}}};
  SortByLoss(runs);
  EXPECT_EQ(runs[0].values[0], "b");
}

}  // namespace
}  // namespace dtnn
