#include "apps/flags/parser.h"

#include <initializer_list>

#include "comm/ranks/job/exit_code.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using Arguments = std::vector<std::string>;

// A complete command line with `arguments` in it.
absl::StatusOr<CommandLine> Parse(const Arguments& arguments) {
  Arguments all = {"--model=simplecnn", "--dataset=mnist"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return ParseFlags(all);
}

Options Parsed(const Arguments& arguments) {
  const absl::StatusOr<CommandLine> command_line = Parse(arguments);
  EXPECT_TRUE(command_line.ok()) << command_line.status();
  return command_line.ok() ? command_line->options : Options();
}

// The message of the usage error.
std::string Error(const Arguments& arguments) {
  const absl::StatusOr<CommandLine> command_line = Parse(arguments);
  EXPECT_EQ(ExitCodeOf(command_line.status()), kExitUsage);
  return std::string(command_line.status().message());
}

TEST(ParserTest, ValueStandsAfterEqualsOrNext) {
  EXPECT_EQ(Parsed({"--num-epochs=7"}).training.epochs, 7);
  EXPECT_EQ(Parsed({"--num-epochs", "7"}).training.epochs, 7);
  EXPECT_EQ(Parsed({"--random-seed", "-7"}).training.seed, -7);
  EXPECT_EQ(Parsed({"--dataset-path=a=b"}).data.path, "a=b");
  EXPECT_EQ(Parsed({"--dataset-path=--x"}).data.path, "--x");
}

TEST(ParserTest, DashesAndUnderscoresAreEqual) {
  EXPECT_EQ(Parsed({"--num_epochs=7"}).training.epochs, 7);
  EXPECT_EQ(Parsed({"--dataset_train-path=x"}).data.train_path, "x");
}

TEST(ParserTest, LastOccurrenceWins) {
  EXPECT_EQ(Parsed({"--num-epochs=7", "--num_epochs", "8"}).training.epochs, 8);
  EXPECT_FALSE(Parsed({"--evaluate", "--noevaluate"}).training.evaluate);
  EXPECT_TRUE(Parsed({"--noevaluate", "--evaluate"}).training.evaluate);
  EXPECT_EQ(Parsed({"--batch-size=3", "--batch-size=None"}).training.batch, std::nullopt);
}

TEST(ParserTest, OverriddenValuesAreCheckedToo) {
  EXPECT_EQ(Error({"--num-epochs=x", "--num-epochs=8"}),
            "--num-epochs=x: must be a whole number >= 0 and <= 1000000000");
}

TEST(ParserTest, BooleansInAllForms) {
  EXPECT_TRUE(Parsed({"--evaluate"}).training.evaluate);
  EXPECT_TRUE(Parsed({"--evaluate=YES"}).training.evaluate);
  EXPECT_TRUE(Parsed({"--evaluate", "on"}).training.evaluate);
  EXPECT_FALSE(Parsed({"--evaluate", "no"}).training.evaluate);
  EXPECT_FALSE(Parsed({"--noaugment-shuffle"}).data.shuffle);
  EXPECT_FALSE(Parsed({"--no-augment-shuffle"}).data.shuffle);
  EXPECT_FALSE(Parsed({"--no_augment_shuffle"}).data.shuffle);
  const Options options = Parsed({"--evaluate", "--num-epochs=2"});
  EXPECT_TRUE(options.training.evaluate);
  EXPECT_EQ(options.training.epochs, 2);
}

TEST(ParserTest, NamesThatBeginWithNoAreNotNegations) {
  EXPECT_EQ(Parse({"--normalize"}).value().options.data.normalize, true);
  EXPECT_EQ(Parse({"--normalize", "--nonormalize"}).value().options.data.normalize, false);
}

TEST(ParserTest, NegationIsForBooleansAndTakesNoValue) {
  EXPECT_EQ(Error({"--noevaluate=true"}),
            "--noevaluate=true: takes no value; write --evaluate or --noevaluate");
  EXPECT_EQ(Error({"--nonum-epochs"}),
            "--nonum-epochs: no such option; did you mean --num-epochs? (--help=all lists them)");
}

TEST(ParserTest, MisspeltBooleanIsAnError) {
  EXPECT_EQ(Error({"--evaluate=ture"}),
            "--evaluate=ture: must be true, 1, yes, y, t, on or false, 0, no, n, f, off; did you "
            "mean \"true\"?");
  EXPECT_EQ(Error({"--evaluate", "ture"}),
            "argument \"ture\": is not an option; write --name=value (--help=all lists them)");
}

TEST(ParserTest, UnknownOptionNamesTheNearest) {
  EXPECT_EQ(Error({"--nume-pochs=3"}),
            "--nume-pochs: no such option; did you mean --num-epochs? (--help=all lists them)");
  EXPECT_EQ(Error({"--momentun=3"}),
            "--momentun: no such option; did you mean --momentum? (--help=all lists them)");
  EXPECT_EQ(Error({"--xyzzy"}), "--xyzzy: no such option (--help=all lists them)");
}

TEST(ParserTest, NamesOfOtherProgramsAreSuggested) {
  const auto suggested = [](const std::string& name) {
    const std::string error = Error({"--" + name + "=1"});
    const std::string start = "--" + name + ": no such option; did you mean --";
    EXPECT_TRUE(error.starts_with(start)) << error;
    return error.substr(start.size(), error.find('?') - start.size());
  };
  EXPECT_EQ(suggested("weight-decay"), "optimizer-decay");
  EXPECT_EQ(suggested("workers"), "loader-threads");
  EXPECT_EQ(suggested("amp"), "math-mode");
  EXPECT_EQ(suggested("data"), "dataset-path");
  EXPECT_EQ(suggested("lr"), "learning-rate");
  EXPECT_EQ(suggested("epochs"), "num-epochs");
  EXPECT_EQ(suggested("optim"), "optimizer");
  EXPECT_EQ(suggested("output"), "save-model");
  EXPECT_EQ(suggested("precision"), "math-mode");
}

TEST(ParserTest, AValueMayLeadToAnotherOption) {
  for (const std::string_view spelling : {"--learning-rate=find", "--learning_rate=find"}) {
    const std::string error = Error({std::string(spelling)});
    EXPECT_TRUE(error.starts_with("--learning-rate=find: ")) << error;
    EXPECT_TRUE(error.ends_with("; did you mean --find-learning-rate?")) << error;
  }
  EXPECT_FALSE(Error({"--learning-rate=fund"}).ends_with("?"));
}

TEST(ParserTest, AbbreviationsAreSuggestedButNotAccepted) {
  EXPECT_EQ(Error({"--num=3"}),
            "--num: no such option; did you mean --num-epochs? (--help=all lists them)");
}

TEST(ParserTest, ComputedValuesSayWhatToDo) {
  EXPECT_EQ(Error({"--threads_per_process=4"}),
            "--threads-per-process: cannot be set; set the environment variable OMP_NUM_THREADS");
}

TEST(ParserTest, MissingValue) {
  EXPECT_EQ(Error({"--num-epochs"}),
            "--num-epochs: needs a value: a whole number >= 0 and <= 1000000000");
  EXPECT_EQ(Error({"--num-epochs", "--evaluate"}),
            "--num-epochs: needs a value: a whole number >= 0 and <= 1000000000");
}

TEST(ParserTest, NoPositionalArguments) {
  for (const Arguments& arguments :
       std::initializer_list<Arguments>{{"x"}, {"-x"}, {"--", "--evaluate"}, {""}, {"-"}}) {
    EXPECT_TRUE(Error(arguments).ends_with("(--help=all lists them)")) << arguments.back();
  }
  EXPECT_TRUE(Parse({"--"}).ok());
}

TEST(ParserTest, OddNamesAreUnknown) {
  for (const char* argument : {"--=", "--=x", "---", "--no", "--no-", "---evaluate"}) {
    EXPECT_FALSE(Error({argument}).empty());
  }
}

TEST(ParserTest, MessagesAreOneShortLine) {
  const std::string error = Error({"--dtype=a\nb" + std::string(5000, 'x')});
  EXPECT_EQ(error.find('\n'), error.npos);
  EXPECT_LT(error.size(), 300u);
  const std::string unknown = Error({"--" + std::string(100000, 'x')});
  EXPECT_LT(unknown.size(), 300u);
}

TEST(ParserTest, HelpAndListsNeedNothingElse) {
  const auto action = [](const Arguments& arguments) { return ParseFlags(arguments)->action; };
  EXPECT_EQ(action({"--help"}), Action::kHelp);
  EXPECT_EQ(action({"-h", "nonsense"}), Action::kHelp);
  EXPECT_EQ(action({"--num-epochs=2", "--help"}), Action::kHelp);
  EXPECT_EQ(action({"--model=list"}), Action::kListModels);
  EXPECT_EQ(action({"--dataset", "list"}), Action::kListDatasets);
  EXPECT_EQ(action({"--augment=list"}), Action::kListTransforms);
  EXPECT_EQ(action({"--conv-direct-method=list"}), Action::kListDirectMethods);
  for (const Arguments& arguments :
       {Arguments{"--help=optimizer"}, Arguments{"--help", "optimizer"},
        Arguments{"-h", "optimizer"}}) {
    EXPECT_EQ(ParseFlags(arguments)->help_topic, "optimizer");
  }
  EXPECT_EQ(ParseFlags(Arguments{"--help", "--model=vgg16"})->help_topic, "");
  EXPECT_FALSE(ParseFlags(Arguments{"--bad", "--help"}).ok());
}

TEST(ParserTest, ContradictingSpellingsAreAnError) {
  EXPECT_EQ(Error({"--optimizer-momentum=0.5", "--momentum=0.6"}),
            "--optimizer-momentum=0.5 and --momentum=0.6: contradict each other; give one of them");
  EXPECT_EQ(Parsed({"--optimizer-momentum=0.50", "--momentum=5e-1"}).optimizer.momentum, 0.5);
}

TEST(ParserTest, MappedAliases) {
  EXPECT_EQ(Parsed({"--enable_conv_i2c"}).convolution.variant, "i2c");
  EXPECT_EQ(Parsed({"--enable_conv_gemm=False"}).convolution.variant, "auto");
  EXPECT_EQ(Parsed({"--noenable_conv_gemm"}).convolution.variant, "auto");
  EXPECT_EQ(Parsed({"--enable_conv_winograd=True"}).convolution.variant, "winograd");
  EXPECT_EQ(Error({"--enable_conv_gemm=maybe"}).substr(0, 32), "--enable-conv-gemm=maybe: must b");
  EXPECT_TRUE(Parsed({"--non_blocking_mpi=False"}).sync.blocking);
  EXPECT_FALSE(Parsed({"--non_blocking_mpi"}).sync.blocking);
  EXPECT_TRUE(Parsed({"--blocking_mpi"}).sync.blocking);
  EXPECT_EQ(
      Error({"--blocking_mpi", "--non_blocking_mpi=1"}),
      "--blocking-mpi=true and --non-blocking-mpi=1: contradict each other; give one of them");
}

TEST(ParserTest, NumbersHaveRanges) {
  EXPECT_EQ(Error({"--encryption-poly-degree=0"}),
            "--encryption-poly-degree=0: must be a whole number >= 1 and <= 62");
}

TEST(CheckNameTest, SuggestsTheNearestKnownName) {
  constexpr std::string_view kModels[] = {"simplecnn", "vgg16"};
  EXPECT_TRUE(CheckName("model", "vgg16", kModels).ok());
  const absl::Status status = CheckName("model", "vgg61", kModels);
  EXPECT_EQ(ExitCodeOf(status), kExitUsage);
  EXPECT_EQ(status.message(),
            "--model=vgg61: unknown model \"vgg61\"; did you mean \"vgg16\"? (--model=list shows "
            "all 2)");
}

}  // namespace
}  // namespace dtnn
