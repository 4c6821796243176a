#include "apps/flags/value.h"

#include <string>

#include "apps/flags/option_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

// The canonical text of `text` for an option, or the error's message after "error: ".
std::string Canonical(std::string_view option, std::string_view text) {
  const absl::StatusOr<Value> value = ParseValue(*FindOption(option), text);
  return value.ok() ? FormatValue(*value) : "error: " + std::string(value.status().message());
}

bool Fails(std::string_view option, std::string_view text) {
  return !ParseValue(*FindOption(option), text).ok();
}

TEST(ValueTest, BooleanWordsInAnyCase) {
  for (const char* word : {"true", "TRUE", "1", "yes", "Y", "t", "On"}) {
    EXPECT_EQ(Canonical("evaluate", word), "True") << word;
  }
  for (const char* word : {"false", "False", "0", "NO", "n", "f", "off"}) {
    EXPECT_EQ(Canonical("evaluate", word), "False") << word;
  }
}

TEST(ValueTest, OtherWordsAreNoBooleans) {
  for (const char* word : {"", "2", "tru", "yess", "None", " true", "-1"}) {
    EXPECT_TRUE(Fails("evaluate", word)) << word;
  }
  EXPECT_EQ(Canonical("evaluate", "ture"),
            "error: must be true, 1, yes, y, t, on or false, 0, no, n, f, off; did you mean "
            "\"true\"?");
}

TEST(ValueTest, WholeNumbersAreReadCompletely) {
  EXPECT_EQ(Canonical("random-seed", "-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(Canonical("random-seed", "9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(Canonical("random-seed", "+7"), "7");
  EXPECT_EQ(Canonical("random-seed", " 7 "), "7");
  EXPECT_EQ(Canonical("random-seed", "9223372036854775808"),
            "error: does not fit into 64 bits; must be a whole number");
  for (const char* text :
       {"", "+", "-", "+-1", "1.0", "1e3", "0x10", "7 7", "7a", "ten", "1_000"}) {
    EXPECT_TRUE(Fails("random-seed", text)) << text;
  }
}

TEST(ValueTest, RealNumbersAreFiniteAndReadCompletely) {
  EXPECT_EQ(Canonical("learning-rate", "1e-3"), "0.001");
  EXPECT_EQ(Canonical("learning-rate", ".5"), "0.5");
  EXPECT_EQ(Canonical("learning-rate", "5."), "5");
  EXPECT_EQ(Canonical("learning-rate", "1e-7"), "1e-07");
  EXPECT_EQ(Canonical("learning-rate", "0.0001"), "0.0001");
  EXPECT_EQ(Canonical("learning-rate", "100000"), "100000");
  EXPECT_EQ(Canonical("learning-rate", "1e16"), "1e+16");
  EXPECT_EQ(Canonical("steps-per-epoch", "-0"), "0");
  EXPECT_EQ(
      Canonical("learning-rate", "1e400"),
      "error: too large or too small for a real number; must be a real number > 0 and <= 1e+38");
  for (const char* text : {"", "nan", "inf", "-inf", "infinity", "1e", "0.1.2", "0x1p3", "1,5"}) {
    EXPECT_TRUE(Fails("learning-rate", text)) << text;
  }
}

TEST(ValueTest, RangesIncludeAndExcludeTheirEnds) {
  EXPECT_EQ(Canonical("validation-split", "0"), "0");
  EXPECT_EQ(Canonical("validation-split", "0.999"), "0.999");
  EXPECT_EQ(Canonical("validation-split", "1"), "error: must be a real number >= 0 and < 1");
  EXPECT_EQ(Canonical("augment-flip-prob", "1"), "1");
  EXPECT_EQ(Canonical("augment-flip-prob", "0"), "error: must be a real number > 0 and <= 1");
  EXPECT_EQ(Canonical("batch-size", "1"), "1");
  EXPECT_EQ(Canonical("batch-size", "0"), "error: must be a whole number >= 1 and <= 100000000");
  EXPECT_EQ(Canonical("tracer-pmlib-port", "65535"), "65535");
  EXPECT_TRUE(Fails("tracer-pmlib-port", "65536"));
}

TEST(ValueTest, SomeRangesHaveAHoleAroundZero) {
  for (const char* text : {"-0.001", "1e-30", "3.75", "1,2,3"}) {
    EXPECT_FALSE(Fails("normalize-scale", text)) << text;
  }
  EXPECT_EQ(
      Canonical("normalize-scale", "0"),
      "error: must be a comma list of real numbers >= -1e+38 and <= 1e+38, not within 1e-30 of 0");
  EXPECT_TRUE(Fails("normalize-scale", "-1e-31"));
}

TEST(ValueTest, VariablesAreReadAndWrittenAsMembersAre) {
  std::vector<double> numbers;
  const OptionSpec spec = {.name = "mean", .type = OptionType::kReals, .field = &numbers};
  EXPECT_EQ(DefaultText(spec), "None");
  Store(ParseValue(spec, " 0.5,,-1e-3").value(), spec, nullptr);
  EXPECT_EQ(numbers, (std::vector<double>{0.5, -0.001}));
  EXPECT_EQ(FormatValue(Load(nullptr, spec)), "0.5,-0.001");
  EXPECT_EQ(ParseValue(spec, "0.5,x").status().message(), "must be a comma list of real numbers");
}

TEST(ValueTest, WordsTakeTheirCanonicalSpelling) {
  EXPECT_EQ(Canonical("optimizer", "Adam"), "adam");
  EXPECT_EQ(Canonical("tensor-format", "nchw"), "NCHW");
  EXPECT_EQ(Canonical("dtype", "float16"),
            "error: unknown word \"float16\"; must be one of: float32, float64; did you mean "
            "\"float32\"?");
}

TEST(ValueTest, AWrongLossIsOfferedLosses) {
  EXPECT_EQ(Canonical("loss-func", "hinge"),
            "error: unknown word \"hinge\"; must be one of: categorical_cross_entropy, "
            "binary_cross_entropy, mse, mae");
  EXPECT_EQ(Canonical("loss-func", "mse,regression_mae"), "mse,regression_mae");
  EXPECT_THAT(Canonical("loss-func", "categorical_cross_entrpy"),
              EndsWith("; did you mean \"categorical_cross_entropy\"?"));
}

TEST(ValueTest, AnOldWordIsSuggestedToo) {
  EXPECT_THAT(Canonical("metrics", "acuracy"), EndsWith("; did you mean \"accuracy\"?"));
}

TEST(ValueTest, LossesOfOtherFrameworksAreSuggested) {
  for (const OtherName& other : OtherWordTable()) {
    EXPECT_THAT(Canonical("loss-func", std::string(other.other)),
                EndsWith("; did you mean \"" + std::string(other.name) + "\"?"));
  }
  // Nearer in letters to the other one.
  EXPECT_THAT(Canonical("loss-func", "Cross_Entropy"),
              EndsWith("; did you mean \"categorical_cross_entropy\"?"));
  EXPECT_THAT(Canonical("optimizer", "bce"), Not(HasSubstr("cross_entropy")));
}

TEST(ValueTest, AListIsOffWhereItIsEmpty) {
  for (const char* word : {"none", "Off"}) {
    const std::string error = Canonical("schedulers", word);
    EXPECT_TRUE(error.ends_with("; for none of them write --schedulers=")) << error;
  }
  EXPECT_EQ(Canonical("schedulers", ""), "");
}

TEST(ValueTest, ASwitchMayTakeWordsToo) {
  EXPECT_EQ(Canonical("learning-rate-scaling", "yes"), "True");
  EXPECT_EQ(Canonical("learning-rate-scaling", "0"), "False");
  EXPECT_EQ(Canonical("learning-rate-scaling", "Multiply"), "multiply");
  EXPECT_EQ(Canonical("learning-rate-scaling", "halve"),
            "error: unknown word \"halve\"; must be one of: False, True, divide, multiply");
}

TEST(ValueTest, NamesAreNotWordsOfSwitches) {
  for (const char* name : {"yes", "1", "t", "off", "False"}) {
    EXPECT_EQ(Canonical("dataset-path", name), name);
    EXPECT_EQ(Canonical("client-name", name), name);
  }
}

TEST(ValueTest, ListsIgnoreBlanksAndEmptyItems) {
  EXPECT_EQ(Canonical("synthetic-input-shape", " 3, 32 ,,32,"), "3,32,32");
  EXPECT_TRUE(Fails("synthetic-input-shape", ",,"));
  EXPECT_TRUE(Fails("synthetic-input-shape", "3,0,32"));
  EXPECT_TRUE(Fails("synthetic-input-shape", "3,x,32"));
  EXPECT_EQ(Canonical("metrics", "accuracy, categorical_accuracy"), "categorical_accuracy");
  EXPECT_EQ(Canonical("metrics", ""), "");
  EXPECT_EQ(Canonical("schedulers", "stop_at_loss,warm_up"), "stop_at_loss,warm_up");
}

TEST(ValueTest, WatchedMetricsMayBeOfTheValidation) {
  EXPECT_EQ(Canonical("stop-at-loss-metric", "accuracy"), "categorical_accuracy");
  EXPECT_EQ(Canonical("stop-at-loss-metric", "val_accuracy"), "val_categorical_accuracy");
  EXPECT_TRUE(Fails("stop-at-loss-metric", "val_val_accuracy"));
}

TEST(ValueTest, NoneIsForOptionsWhoseDefaultItIs) {
  EXPECT_EQ(Canonical("batch-size", "None"), "None");
  EXPECT_EQ(Canonical("model", "none"), "None");
  EXPECT_EQ(Canonical("use-mpi-buffers", "None"), "None");
  EXPECT_EQ(Canonical("encryption", "none"), "None");
  EXPECT_EQ(Canonical("checkpoint-dir", "None"), "None");
  EXPECT_TRUE(Fails("num-epochs", "None"));
  EXPECT_TRUE(Fails("batch-size", ""));
}

TEST(ValueTest, AnEmptyValueIsNotNone) {
  const std::pair<const char*, const char*> errors[] = {
      {"checkpoint-dir", "is empty; must be the name of a file or folder, or None"},
      {"class-weights", "is empty; must be a text; leave the option out to have none"},
      {"encryption",
       "is empty; must be one of: masked, tenseal, openfhe; leave the option out to have none"},
      {"dtype", "is empty; must be one of: float32, float64"}};
  for (const auto& [name, error] : errors) {
    EXPECT_EQ(std::string(ParseValue(*FindOption(name), "").status().message()), error) << name;
  }
}

TEST(ValueTest, ATildeAtTheBeginningOfAPathIsTheHome) {
  setenv("HOME", "/home/ann", 1);
  for (const char* name : {"dataset-path", "save-model", "tracer-output"}) {
    const OptionSpec& spec = *FindOption(name);
    const auto value = [&](const char* text) {
      return std::get<std::string>(ParseValue(spec, text).value());
    };
    EXPECT_EQ(value("~/data/x"), "/home/ann/data/x");
    EXPECT_EQ(value("~"), "/home/ann");
    EXPECT_EQ(value("./~/x"), "./~/x");
    EXPECT_EQ(value("~ann/x"), "~ann/x");
    EXPECT_EQ(value("a~/x"), "a~/x");
  }
  unsetenv("HOME");
  EXPECT_EQ(std::get<std::string>(ParseValue(*FindOption("save-model"), "~/x").value()), "~/x");
}

TEST(ValueTest, TextsHoldNoZeroByte) {
  EXPECT_TRUE(Fails("dataset-path", std::string_view("a\0b", 3)));
}

TEST(ValueTest, NoneEmptiesWhatWasStored) {
  Options options;
  Store(Value(int64_t{5}), *FindOption("batch-size"), &options);
  EXPECT_EQ(options.training.batch, 5);
  Store(Value(), *FindOption("batch-size"), &options);
  EXPECT_EQ(options.training.batch, std::nullopt);
  Store(Value(std::string("x")), *FindOption("model"), &options);
  EXPECT_EQ(options.network.name, "x");
  Store(Value(), *FindOption("model"), &options);
  EXPECT_EQ(options.network.name, "");
}

}  // namespace
}  // namespace dtnn
