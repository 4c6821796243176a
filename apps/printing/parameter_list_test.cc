#include "apps/printing/parameter_list.h"

#include <sstream>

#include "apps/flags/option_table.h"
#include "comm/ranks/job/exit_code.h"
#include "data/datasets/mnist.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

bool HasLine(const std::string& text, const std::string& line) {
  return text.find("\n" + line + "\n") != text.npos;
}

TEST(ParameterListTest, LinesHaveTheDocumentedForm) {
  Options options;
  options.network.name = "simplecnn";
  options.data.name = "mnist";
  options.training.metrics = {"a", "b"};
  const std::string list = FormatParameterList(options, {.threads_per_process = 4}).value();
  EXPECT_TRUE(list.starts_with("**** Parameters:\n  model                          : simplecnn\n"));
  EXPECT_TRUE(HasLine(list, "  batch_size                     : 64"));
  EXPECT_TRUE(HasLine(list, "  global_batch_size              : None"));
  EXPECT_TRUE(HasLine(list, "  dtype                          : float32"));
  EXPECT_TRUE(HasLine(list, "  evaluate                       : False"));
  EXPECT_TRUE(
      HasLine(list, "  dataset_path                   : " + std::string(kFashionMnistPath)));
  EXPECT_TRUE(HasLine(list, "  synthetic_input_shape          : 3,32,32"));
  EXPECT_TRUE(HasLine(list, "  optimizer_epsilon              : 1e-07"));
  EXPECT_TRUE(HasLine(list, "  metrics                        : a,b"));
  EXPECT_TRUE(HasLine(list, "  mpi_processes                  : 1"));
  EXPECT_TRUE(HasLine(list, "  threads_per_process            : 4"));
}

TEST(ParameterListTest, HoldsEveryOption) {
  const std::string list = FormatParameterList(Options(), {}).value();
  int lines = 0;
  std::istringstream stream(list);
  for (std::string line; std::getline(stream, line); ++lines) EXPECT_FALSE(line.empty());
  EXPECT_EQ(lines, 1 + int(OptionTable().size()) + 3);
}

TEST(ParameterListTest, ShowsTheValuesInForce) {
  Options options;
  options.training.global_batch = 12;
  options.network.format = "AUTO";
  options.device.gpu = true;
  const std::string list = FormatParameterList(options, {.mpi_processes = 4}).value();
  EXPECT_TRUE(HasLine(list, "  batch_size                     : 3"));
  EXPECT_TRUE(HasLine(list, "  global_batch_size              : 12"));
  EXPECT_TRUE(HasLine(list, "  tensor_format                  : NCHW"));
  EXPECT_EQ(ExitCodeOf(FormatParameterList(options, {.mpi_processes = 5}).status()), kExitUsage);
}

TEST(ParameterListTest, SaysWhereAValueIsNotTheUsualOne) {
  const auto beta1 = [](const Options& options, const std::string& value) {
    const std::string list = FormatParameterList(options, {}).value();
    return HasLine(list, "  optimizer_beta1                : " + value);
  };
  Options options;
  EXPECT_TRUE(beta1(options, "0.99")) << "sgd has none";
  options.optimizer.name = "adam";
  EXPECT_TRUE(beta1(options, "0.99  (usual: 0.9)"));
  options.given = {"optimizer-beta1"};
  EXPECT_TRUE(beta1(options, "0.99"));
}

TEST(ParameterListTest, TheShortFormHasWhatEveryRunHasAndWhatDiffersFromDefaults) {
  Options options;
  options.network.name = "simplecnn";
  options.data.name = "mnist";
  options.data.augment.flip = true;
  options.given = {"augment-flip"};
  options.ranks.transport = Transport::kTcp;  // has no effect with one rank
  const RunFacts facts = {.mpi_processes = 1, .threads_per_process = 4};
  EXPECT_EQ(FormatShortParameterList(options, facts).value(),
            "**** Parameters (the others have their defaults; --verbose lists all):\n"
            "  model                          : simplecnn\n"
            "  batch_size                     : 64\n"
            "  num_epochs                     : 1\n"
            "  dataset                        : mnist\n"
            "  dataset_path                   : " +
                std::string(kFashionMnistPath) +
                "\n"
                "  validation_split               : 0.2\n"
                "  augment_flip                   : True\n"
                "  optimizer                      : sgd\n"
                "  learning_rate                  : 0.01\n"
                "  loss_func                      : categorical_cross_entropy\n"
                "  metrics                        : categorical_accuracy\n"
                "  schedulers                     : early_stopping,reduce_lr_on_plateau\n");
  options.optimizer.name = "adam";
  options.optimizer.beta1 = 0.9;
  options.given.insert("optimizer-beta1");
  EXPECT_TRUE(HasLine(FormatShortParameterList(options, facts).value(),
                      "  optimizer_beta1                : 0.9"));
  options.training.evaluate_only = true;
  const std::string testing = FormatShortParameterList(options, facts).value();
  EXPECT_TRUE(HasLine(testing, "  evaluate_only                  : True")) << testing;
  for (const char* training : {"num_epochs", "augment_flip", "optimizer"}) {
    EXPECT_EQ(testing.find(training), testing.npos) << testing;
  }
}

TEST(ParameterListTest, TheShortFormHasTheFormatWhereItIsNotTheUsualOne) {
  const auto listed = [](const Options& options) {
    const std::string list = FormatShortParameterList(options, {}).value();
    const size_t at = list.find("tensor_format");
    return at == list.npos ? "" : list.substr(list.find(": ", at) + 2, 4);
  };
  Options options;
  EXPECT_EQ(listed(options), "");
  options.device.gpu = true;
  EXPECT_EQ(listed(options), "NCHW");
  options.device.math_mode = MathMode::kBf16;
  EXPECT_EQ(listed(options), "");
}

TEST(ParameterListTest, TheShortFormIsPartOfTheLongOne) {
  Options options;
  options.optimizer.name = "adam";
  const std::string all = FormatParameterList(options, {}).value();
  std::istringstream lines(FormatShortParameterList(options, {}).value());
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) EXPECT_TRUE(HasLine(all, line)) << line;
  EXPECT_TRUE(HasLine(FormatShortParameterList(options, {}).value(),
                      "  optimizer_beta1                : 0.99  (usual: 0.9)"));
}

TEST(ParameterListTest, ValuesStayOnTheirLine) {
  Options options;
  options.data.path = "a\nb";
  EXPECT_TRUE(HasLine(FormatParameterList(options, {}).value(),
                      "  dataset_path                   : a\\nb"));
}

}  // namespace
}  // namespace dtnn
