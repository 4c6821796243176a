#include "apps/flags/option_needs.h"

#include "apps/flags/option_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

OptionSpec Needing(std::string_view needs) { return OptionSpec{.name = "x"}.Needs(needs); }

std::vector<std::string> Unmet(std::string_view needs, const Options& options) {
  return UnmetNeeds(Needing(needs), options);
}

TEST(OptionNeedsTest, ASwitchANumberAndAPathAreMetWhenSet) {
  for (const char* needs :
       {"augment-flip", "optimizer-decay", "checkpoint-dir", "batch-size", "accumulate-steps"}) {
    Options options;
    options.training.accumulate_steps = 0;
    EXPECT_THAT(Unmet(needs, options), ElementsAre("without --" + std::string(needs)));
    options.data.augment.flip = true;
    options.optimizer.decay = 1e-4;
    options.checkpoint.folder = "x";
    options.training.batch = 1;
    options.training.accumulate_steps = 2;
    EXPECT_THAT(Unmet(needs, options), IsEmpty()) << needs;
  }
}

TEST(OptionNeedsTest, ZeroIsANumberWhereNoneIsTheDefault) {
  Options options;
  EXPECT_THAT(Unmet("metrics-port", options), ElementsAre("without --metrics-port"));
  options.monitor.port = 0;
  EXPECT_THAT(Unmet("metrics-port", options), IsEmpty());
}

TEST(OptionNeedsTest, AWordIsMetByAnyOfItsWords) {
  Options options;
  EXPECT_THAT(Unmet("optimizer=adam,nadam", options), ElementsAre("with --optimizer=sgd"));
  EXPECT_THAT(Unmet("optimizer=adam,sgd", options), IsEmpty());
  options.data.name = "synthetic";
  EXPECT_THAT(Unmet("!dataset=synthetic", options), ElementsAre("with --dataset=synthetic"));
  options.data.name = "mnist";
  EXPECT_THAT(Unmet("!dataset=synthetic", options), IsEmpty());
}

TEST(OptionNeedsTest, AListIsMetWhenItHoldsTheWord) {
  Options options;
  options.schedule.schedulers = {"cosine", "warm_up"};
  EXPECT_THAT(Unmet("schedulers=warm_up", options), IsEmpty());
  EXPECT_THAT(Unmet("schedulers=early_stopping", options),
              ElementsAre("without early_stopping in --schedulers"));
  EXPECT_THAT(Unmet("!schedulers=warm_up", options),
              ElementsAre("with --schedulers=cosine,warm_up"));
}

TEST(OptionNeedsTest, EveryConditionButOneAlternativeOfIt) {
  Options options;
  options.data.name = "mnist";
  const std::string_view either = "dataset=synthetic|use-synthetic-data";
  EXPECT_THAT(Unmet(either, options), ElementsAre("with --dataset=mnist"));
  options.data.synthetic.instead = true;
  EXPECT_THAT(Unmet(either, options), IsEmpty());
  options.training.evaluate_only = options.data.test_as_validation = true;
  EXPECT_THAT(Unmet("!evaluate-only !test-as-validation", options),
              ElementsAre("with --evaluate-only", "with --test-as-validation"));
}

TEST(OptionNeedsTest, IsDescribedAsOneWouldWriteIt) {
  EXPECT_EQ(DescribeNeeds(Needing("")), "");
  EXPECT_EQ(DescribeNeeds(Needing("augment-flip")), "--augment-flip");
  EXPECT_EQ(DescribeNeeds(Needing("optimizer=adam,nadam,adamw")),
            "--optimizer=adam, nadam or adamw");
  EXPECT_EQ(DescribeNeeds(Needing("!evaluate-only dataset=synthetic|use-synthetic-data")),
            "no --evaluate-only; --dataset=synthetic or --use-synthetic-data");
  EXPECT_EQ(DescribeNeeds(Needing("!dataset=synthetic,mnist")),
            "--dataset other than synthetic or mnist");
  EXPECT_EQ(DescribeNeeds(Needing("schedulers=warm_up,cosine")),
            "warm_up or cosine in --schedulers");
}

TEST(OptionNeedsTest, KnowsWhichOptionsItNames) {
  const OptionSpec spec = Needing("!evaluate-only dataset=synthetic|use-synthetic-data");
  EXPECT_TRUE(NeedsOption(spec, "dataset"));
  EXPECT_TRUE(NeedsOption(spec, "use-synthetic-data"));
  EXPECT_FALSE(NeedsOption(spec, "evaluate-only")) << "it is not needed but in the way";
  EXPECT_FALSE(NeedsOption(spec, "synthetic"));
}

// A misspelt option or word in the table would end the program, or never be met.
TEST(OptionNeedsTest, TheTableNeedsOptionsAndWordsThatThereAre) {
  for (const OptionSpec& spec : OptionTable()) {
    UnmetNeeds(spec, Options());
    for (std::string_view rest = spec.needs; !rest.empty();) {
      const size_t end = std::min(rest.find_first_of(" |"), rest.size());
      std::string_view need = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (need.starts_with('!')) need.remove_prefix(1);
      const OptionSpec* needed = FindOption(need.substr(0, need.find('=')));
      ASSERT_NE(needed, nullptr) << spec.name << " needs " << need;
      EXPECT_NE(needed->name, spec.name);
      if (need.find('=') == need.npos) continue;
      const std::string known = "," + std::string(needed->words) + ",";
      std::string words(need.substr(need.find('=') + 1));
      for (size_t at = 0; at < words.size();) {
        const size_t comma = std::min(words.find(',', at), words.size());
        const std::string word = words.substr(at, comma - at);
        EXPECT_NE(known.find("," + word + ","), known.npos) << spec.name << " needs " << need;
        at = comma + 1;
      }
    }
  }
}

}  // namespace
}  // namespace dtnn
