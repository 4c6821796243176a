#include "apps/options_file/options_file.h"

#include <filesystem>
#include <fstream>

#include "apps/flags/option_table.h"
#include "apps/flags/parser.h"
#include "apps/flags/value.h"
#include "comm/ranks/job/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Arguments = std::vector<std::string>;

Arguments Parsed(std::string_view text) {
  const auto arguments = ParseOptions(text, "run.yaml");
  EXPECT_TRUE(arguments.ok()) << arguments.status();
  return arguments.value_or(Arguments{});
}

std::string Error(std::string_view text) {
  const absl::Status status = ParseOptions(text, "run.yaml").status();
  EXPECT_EQ(ExitCodeOf(status), kExitUsage) << text;
  return std::string(status.message());
}

std::string FileOf(std::string_view text) {
  const std::string path = testing::TempDir() + "/run.yaml";
  std::ofstream(path) << text;
  return path;
}

TEST(OptionsFileTest, AKeyIsAnOption) {
  EXPECT_THAT(Parsed("model: resnet20\nbatch_size: 64\nevaluate: true\nlearning-rate: 1e-3\n"),
              ElementsAre("--model=resnet20", "--batch_size=64", "--evaluate=true",
                          "--learning-rate=1e-3"));
  EXPECT_THAT(Parsed("dataset-path: \"a: b # c\"\n"), ElementsAre("--dataset-path=a: b # c"));
  EXPECT_THAT(Parsed(""), IsEmpty());
  EXPECT_THAT(Parsed("{}\n"), IsEmpty());
  EXPECT_THAT(Parsed("# nothing yet\n"), IsEmpty());
}

TEST(OptionsFileTest, KeysNestListsJoinAndNullIsNone) {
  EXPECT_THAT(
      Parsed("early-stopping: {patience: 3, min-delta: 0.5}\n"
             "reduce:\n  lr:\n    on-plateau: {patience: 2}\n"
             "metrics: [categorical_accuracy, f1_score]\n"
             "schedulers: []\n"
             "batch-size:\n"),
      ElementsAre("--early-stopping-patience=3", "--early-stopping-min-delta=0.5",
                  "--reduce-lr-on-plateau-patience=2", "--metrics=categorical_accuracy,f1_score",
                  "--schedulers=", "--batch-size=None"));
}

TEST(OptionsFileTest, ErrorsNameTheLine) {
  EXPECT_EQ(Error("model: vgg16\n\nlearnin-rate: 1\n"),
            "run.yaml:3: --learnin-rate: no such option; did you mean --learning-rate? "
            "(--help=all lists them)");
  EXPECT_THAT(Error("cosine:\n  max-lr: 1\n"), HasSubstr("run.yaml:2: --cosine-max-lr: no such"));
  EXPECT_EQ(Error("num-epochs: x"),
            "run.yaml:1: --num-epochs=x: must be a whole number >= 0 and <= 1000000000");
  EXPECT_EQ(Error("batch-size: 1\nquiet: true\nbatch: {size: 2}\n"),
            "run.yaml:3: batch-size: was given in line 1 already");
  EXPECT_EQ(Error("use-blocking-mpi: true\nblocking_mpi: false\n").substr(0, 11), "run.yaml:2:");
  EXPECT_EQ(Error("quiet: true\nlerning-rate: {}\n"),
            "run.yaml:2: lerning-rate: has neither a value nor names below it");
  EXPECT_EQ(Error("early-stopping:\n  patience: {}\n"),
            "run.yaml:2: early-stopping-patience: has neither a value nor names below it");
  EXPECT_EQ(Error("model: [a, [b]]\n"), "run.yaml:1: model: expected a list of words or numbers");
  EXPECT_EQ(Error("- model\n"), "run.yaml:1: expected lines like num-epochs: 5");
  EXPECT_EQ(Error("model vgg16\n"), "run.yaml:1: expected lines like num-epochs: 5");
  EXPECT_EQ(Error("a=b: 1\n"), "run.yaml:1: \"a=b\": is not the name of an option");
  EXPECT_EQ(Error("[a]: 1\n"), "run.yaml:1: \"\": is not the name of an option");
  EXPECT_THAT(Error("quiet: 1\nmodel: a: b\n"), HasSubstr("run.yaml:2: is not YAML: "));
  EXPECT_THAT(Error("model: a\n---\nmodel: b\n"), HasSubstr("a second document; expected one"));
  for (const char* text : {"model: list\n", "options: b.yaml\n", "dry-run: true\n"}) {
    EXPECT_THAT(Error(text), HasSubstr(": does not belong into a file")) << text;
  }
  EXPECT_THAT(Error("help: all\n"), HasSubstr(": does not belong into a file"));
}

TEST(OptionsFileTest, FewBytesDoNotStandForMany) {
  std::string bomb = "x: &a {p: 1, q: 1}\n";
  for (char c = 'b'; c < 'z'; ++c) {
    bomb +=
        std::string("x") + c + ": &" + c + " {p: *" + char(c - 1) + ", q: *" + char(c - 1) + "}\n";
  }
  EXPECT_EQ(ExitCodeOf(ParseOptions(bomb, "run.yaml").status()), kExitUsage);
  EXPECT_EQ(Error("a: &x\n  b: *x\n"), "run.yaml:1: more than 8 levels of keys");
  EXPECT_THAT(Error("metrics: &x [*x]\n"), HasSubstr("expected a list of words or numbers"));
  // The key and the list count too.
  std::string list = "metrics: [f1_score";
  for (int i = 1; i < 9998; ++i) list += ",f1_score";
  const absl::Status most = ParseOptions(list + "]\n", "run.yaml").status();
  EXPECT_THAT(std::string(most.message()), Not(HasSubstr("more than")));
  EXPECT_EQ(Error(list + ",f1_score]\n"), "run.yaml:1: more than 10000 values");
  EXPECT_THAT(Error("metrics: " + std::string(100'000, '[')), HasSubstr("is not YAML: "));
}

TEST(OptionsFileTest, TheCommandLineWins) {
  const std::string path = FileOf("model: vgg16\nbatch-size: 8\nnum-epochs: 3\n");
  const auto arguments = WithOptionsFile({"--options=" + path, "--batch_size", "16"});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_THAT(*arguments, ElementsAre("--model=vgg16", "--num-epochs=3", "--options=" + path,
                                      "--batch_size", "16"));
  // Under an older name too, which would contradict the new one.
  const std::string heavy = FileOf("optimizer: {momentum: 0.5}\n");
  EXPECT_THAT(*WithOptionsFile({"--momentum=0.8", "--options=" + heavy}),
              ElementsAre("--momentum=0.8", "--options=" + heavy));
}

TEST(OptionsFileTest, WithoutAFileNothingChanges) {
  for (const Arguments& arguments : {Arguments{}, {"--model=vgg16"}, {"--", "--options=x"}}) {
    EXPECT_EQ(*WithOptionsFile(arguments), arguments);
  }
}

TEST(OptionsFileTest, AWrongCommandLineIsLeftToTheParser) {
  const auto arguments = WithOptionsFile({"--options=" + FileOf("model: vgg16\n"), "--nonsense"});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_THAT(std::string(ParseFlags(*arguments).status().message()), HasSubstr("--nonsense"));
}

TEST(OptionsFileTest, AFileThatCannotBeReadIsNamed) {
  const absl::Status missing = WithOptionsFile({"--options=/no/such.yaml"}).status();
  EXPECT_EQ(ExitCodeOf(missing), kExitFailed);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("--options: /no/such.yaml: "));
  EXPECT_FALSE(WithOptionsFile({"--options=" + testing::TempDir()}).ok());
  EXPECT_FALSE(WithOptionsFile({"--options=" + FileOf(std::string(2 << 20, '#'))}).ok());
  EXPECT_THAT(
      std::string(WithOptionsFile({"--options=" + FileOf("modle: a\n")}).status().message()),
      testing::AllOf(HasSubstr("--options: "), HasSubstr("run.yaml:1: --modle: no such option; did "
                                                         "you mean --model?")));
}

// What is saved and read again is the same run.
TEST(OptionsFileTest, SavedOptionsGiveTheSameRun) {
  for (const Arguments& more : std::vector<Arguments>{
           {},
           {"--optimizer=adam", "--schedulers=warm_up,cosine", "--cosine-min-lr=1e-5"},
           {"--schedulers=", "--metrics=f1_score", "--batch-size=None", "--evaluate"},
           {"--augment=flip:0.25,cutout:4:zero", "--class-weights=1,0.5", "--validation-split=0"},
           {"--dataset-path=a b: 'c' # \"d\"\\\n\te", "--save-model=~/x.safetensors"},
           {"--parallel=data", "--transport=tcp", "--gradient-compression=none"},
           {"--parallel=federated", "--server=host:1", "--encryption=masked"},
           {"--enable-gpu", "--math-mode=bf16", "--normalize", "--normalize-offset=-1,2,3"},
       }) {
    Arguments arguments = {"--model=resnet20", "--dataset=cifar10", "--dataset-path=data"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto first = ParseFlags(arguments);
    ASSERT_TRUE(first.ok()) << first.status();
    const std::string saved = FormatOptions(first->options);
    const auto again = ParseFlags(Parsed(saved));
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << saved;
    Options expected = OptionsInForce(first->options), read = OptionsInForce(again->options);
    read.given = expected.given;
    EXPECT_EQ(read, expected) << saved;
    EXPECT_THAT(again->warnings, IsEmpty()) << saved;
    EXPECT_EQ(FormatOptions(again->options), saved);
  }
}

TEST(OptionsFileTest, DefaultsThatFollowOtherOptionsAreSaved) {
  const auto saved = [](const Arguments& arguments) {
    return FormatOptions(ParseFlags(arguments)->options);
  };
  const std::string mnist = saved({"--model=simplecnn", "--dataset=mnist"});
  EXPECT_THAT(mnist, HasSubstr("\nbatch-size: 64\n"));
  EXPECT_THAT(mnist, HasSubstr("\ndataset-path: /usr/share/datasets/fashion-mnist\n"));
  const std::string other = saved(
      {"--model=simplecnn", "--dataset=mnist", "--dataset-train-path=a", "--global-batch-size=8"});
  EXPECT_THAT(other, Not(HasSubstr("\nbatch-size")));
  EXPECT_THAT(other, Not(HasSubstr("\ndataset-path")));
}

TEST(OptionsFileTest, ADefaultWithoutEffectIsNotSaved) {
  const auto parsed = ParseFlags(Arguments{"--model=resnet20", "--dataset=synthetic", "--dry-run",
                                           "--optimizer=sgd", "--save-options=x.yaml"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const std::string text = FormatOptions(parsed->options);
  EXPECT_THAT(text, HasSubstr("\nmodel: resnet20\n"));
  EXPECT_THAT(text, HasSubstr("\noptimizer-momentum: 0.9\n"));
  for (const char* name : {"optimizer-beta2", "cosine", "dry-run", "save-options", "\nserver:"}) {
    EXPECT_THAT(text, Not(HasSubstr(name)));
  }
}

}  // namespace
}  // namespace dtnn
