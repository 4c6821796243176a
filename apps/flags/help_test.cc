#include "apps/flags/help.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "comm/ranks/job/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string Help(std::string_view topic) { return HelpText("what it is", topic).value(); }

std::string Error(std::string_view topic) {
  const absl::Status status = HelpText("what it is", topic).status();
  EXPECT_EQ(ExitCodeOf(status), kExitUsage);
  return std::string(status.message());
}

bool TakesWords(const OptionSpec& spec) {
  return spec.type == OptionType::kWord || spec.type == OptionType::kWords ||
         spec.type == OptionType::kMetric;
}

bool TakesNumbers(const OptionSpec& spec) {
  return spec.type == OptionType::kInt || spec.type == OptionType::kReal ||
         spec.type == OptionType::kInts || spec.type == OptionType::kReals;
}

TEST(HelpTest, AloneIsAPageOf20Lines) {
  const std::string page = Help("");
  EXPECT_LE(std::ranges::count(page, '\n'), 20) << page;
  EXPECT_THAT(page, StartsWith("what it is\n\n  --model=NAME "));
  for (const char* option :
       {"--model=", "--dataset=", "--num-epochs=", "--batch-size=", "--learning-rate=",
        "--optimizer=", "--evaluate", "--checkpoint-dir=", "--resume",
        "--save-model=", "--parallel=", "--help=all", "--help=TOPIC", "--help=OPTION"}) {
    EXPECT_THAT(page, HasSubstr(option));
  }
  EXPECT_THAT(page, Not(HasSubstr("--augment")));
  EXPECT_THAT(page, HasSubstr(" schedulers,"));
  EXPECT_THAT(page, HasSubstr(" encryption,"));
}

TEST(HelpTest, AllNamesEveryOption) {
  const std::string help = Help("all");
  for (const OptionSpec& spec : OptionTable()) {
    EXPECT_THAT(help, HasSubstr(" --" + std::string(spec.name)));
  }
}

TEST(HelpTest, StaysWithin100ColumnsWithoutTrailingBlanks) {
  std::string texts = Help("") + Help("all");
  for (const OptionSpec& spec : OptionTable()) texts += Help(spec.name);
  std::istringstream lines(texts);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_LE(line.size(), 100u) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
  EXPECT_GT(count, 1000);
}

TEST(HelpTest, TopicShowsItsGroupOnly) {
  const std::string help = Help("schedulers");
  EXPECT_THAT(help, HasSubstr("  --warm-up-epochs=EPOCHS "));
  EXPECT_THAT(help, HasSubstr("warm_up: epochs until the full learning rate [5]"));
  EXPECT_THAT(help, Not(HasSubstr("--augment")));
  EXPECT_THAT(Help("convolution"), Not(HasSubstr("--warm-up-epochs")));
  EXPECT_TRUE(HelpText("what it is", "encryption").ok());
}

TEST(HelpTest, AnOptionThatIsCalledLikeItsTopicStandsBeforeIt) {
  const std::string help = Help("optimizer");
  EXPECT_TRUE(help.starts_with("--optimizer=NAME\n")) << help;
  EXPECT_THAT(help, HasSubstr("\n  --optimizer-rho=FRACTION "));
  EXPECT_THAT(Help("--optimizer"), Not(HasSubstr("\n  --optimizer-rho=FRACTION "))) << "only it";
}

TEST(HelpTest, ListsTheWordsOfLists) {
  std::string help = Help("all");
  std::ranges::replace(help, '\n', ' ');
  for (const char* word : {" reduce_lr_every_nepochs,", " one_cycle ", " top5_accuracy,",
                           " per_class_report ", " binary_cross_entropy,"}) {
    EXPECT_THAT(help, HasSubstr(word));
  }
  EXPECT_THAT(help, HasSubstr("--early-stopping-metric=NAME "));
}

TEST(HelpTest, AnOptionIsExplainedAtLength) {
  EXPECT_EQ(
      Help("optimizer-beta1"),
      "--optimizer-beta1=FRACTION\n  adam, nadam, adamw: decay rate of the running mean of "
      "gradients; the usual 0.9 often learns better\n  than the 0.99 of adam and nadam\n\n  "
      "takes     a real number >= 0 and < 1\n  default   "
      "0.99\n  needs     --optimizer=adam, nadam or adamw; no --evaluate-only; otherwise this "
      "option has no\n            effect\n  also      --beta1\n  example   --optimizer-beta1=0.9\n "
      " topic     "
      "optimizer; --help=optimizer lists its options\n");
  const std::string crop = Help("augment-crop");
  EXPECT_THAT(crop, HasSubstr("  with it   --augment-crop-size, --augment-crop-prob\n"));
  EXPECT_THAT(crop, HasSubstr("  also      --crop-images\n"));
  EXPECT_THAT(crop, HasSubstr("  example   --augment-crop\n"));
  EXPECT_THAT(Help("augment-shuffle"), HasSubstr("  example   --noaugment-shuffle\n"));
  EXPECT_THAT(Help("use-blocking-mpi"), HasSubstr("--non-blocking-mpi (the opposite)"));
  EXPECT_THAT(
      Help("model-sync-alg"),
      HasSubstr("              wavg     the more samples a rank has, the more it counts\n"));
  EXPECT_THAT(Help("conv-variant"), HasSubstr("winograd   Winograd's minimal filtering"));
  EXPECT_THAT(Help("profile"), HasSubstr("--profile[=FILE]\n"));
  EXPECT_THAT(Help("profile"), HasSubstr("  takes     True, False or the name of a file\n"));
  EXPECT_THAT(Help("freeze"), HasSubstr("  example   --freeze='1-40,*BatchNormalization'\n"));
  EXPECT_THAT(Help("math-mode"), HasSubstr("  example   --math-mode=bf16\n  topic     model;"))
      << "tf32 is for GPUs alone";
  EXPECT_THAT(Help("metrics"), HasSubstr(" suit the data\n\n"));
  EXPECT_THAT(Help("metrics"),
              HasSubstr("separated by commas; in Python and in files of options a list:\n"));
  EXPECT_THAT(Help("elastic"),
              HasSubstr("  needs     --parallel=data; otherwise this option is an error\n"));
  EXPECT_THAT(Help("warm-up-epochs"), HasSubstr("  needs     warm_up in --schedulers; "));
  EXPECT_THAT(Help("early-stopping-patience"),
              HasSubstr("  needs     early_stopping in --schedulers (the default); "));
}

TEST(HelpTest, AnySpellingOfAnOptionIsExplained) {
  for (const char* word : {"momentum", "--optimizer-momentum", "optimizer_momentum"}) {
    EXPECT_EQ(Help(word), Help("optimizer-momentum")) << word;
  }
  EXPECT_EQ(Help("noevaluate"), Help("evaluate"));
}

// A new number comes with what it counts, and a new word with what it means.
TEST(HelpTest, EveryNumberHasItsUnitAndEveryOptionAnExample) {
  for (const OptionSpec& spec : OptionTable()) {
    if (TakesNumbers(spec)) {
      EXPECT_FALSE(spec.unit.empty()) << spec.name;
    }
    EXPECT_THAT(Help("--" + std::string(spec.name)),
                ::testing::ContainsRegex("example   --(no)?" + std::string(spec.name)));
    if (spec.example.empty()) continue;
    const absl::StatusOr<Value> value = ParseValue(spec, spec.example);
    ASSERT_TRUE(value.ok()) << spec.name << ": " << value.status();
    EXPECT_FALSE(IsDefault(spec, *value)) << spec.name;
  }
}

TEST(HelpTest, EveryWordIsExplainedAndNoOther) {
  for (const OptionSpec& spec : OptionTable()) {
    if (!TakesWords(spec)) continue;
    std::multiset<std::string> words, explained;
    for (const std::string_view word : SplitList(spec.words)) words.emplace(word);
    std::istringstream lines{std::string(spec.meanings)};
    for (std::string line; std::getline(lines, line);) {
      ASSERT_NE(line.find(": "), line.npos) << spec.name << ": " << line;
      explained.insert(line.substr(0, line.find(": ")));
    }
    EXPECT_EQ(explained, words) << spec.name;
  }
}

TEST(HelpTest, OtherWordsAreUsageErrorsThatNameThoseLikeThem) {
  EXPECT_EQ(Error("optimiser"),
            "--help=optimiser: no such topic or option; did you mean optimizer? (--help=all lists "
            "all options)");
  EXPECT_THAT(Error("warm"), HasSubstr("did you mean warm-up-batches or warm-up-epochs?"));
  EXPECT_THAT(Error("momentun"), HasSubstr("did you mean momentum?"));
  EXPECT_THAT(Error("--workers"), HasSubstr("--help=--workers: no such topic or option; did you "
                                            "mean loader-threads?"));
  EXPECT_THAT(Error("xyzzy"), HasSubstr("no such topic or option (--help=all"));
  EXPECT_EQ(Error("threads_per_process"),
            "--help=threads_per_process: cannot be set; set the environment variable "
            "OMP_NUM_THREADS");
  for (const std::string& odd :
       {std::string("-"), std::string("--"), std::string(1000, 'x'), std::string("a\nb")}) {
    const std::string error = Error(odd);
    EXPECT_LT(error.size(), 300u);
    EXPECT_EQ(error.find('\n'), error.npos);
  }
}

}  // namespace
}  // namespace dtnn
