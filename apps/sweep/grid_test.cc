#include "apps/sweep/grid.h"

#include "comm/ranks/job/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Values(std::string_view text) {
  const auto axis = ParseGridAxis(text);
  EXPECT_TRUE(axis.ok()) << axis.status();
  return axis.ok() ? axis->values : std::vector<std::string>();
}

template <typename T>
std::string Error(const absl::StatusOr<T>& value) {
  EXPECT_EQ(ExitCodeOf(value.status()), kExitUsage);
  return std::string(value.status().message());
}

TEST(GridTest, AnAxisIsAnOptionWithItsValues) {
  EXPECT_EQ(ParseGridAxis("learning-rate=0.1")->name, "learning-rate");
  EXPECT_THAT(Values("learning-rate=0.1,1e-3"), ElementsAre("0.1", "1e-3"));
  EXPECT_THAT(Values("schedulers=[warm_up,cosine],one_cycle,[]"),
              ElementsAre("warm_up,cosine", "one_cycle", ""));
  EXPECT_THAT(Values("model=vgg16_cifar10"), ElementsAre("vgg16_cifar10"));
}

TEST(GridTest, AWrongAxisIsRefused) {
  EXPECT_THAT(Error(ParseGridAxis("learning-rate")),
              HasSubstr("expected an option and its values"));
  EXPECT_THAT(Error(ParseGridAxis("=1")), HasSubstr("expected an option and its values"));
  EXPECT_THAT(Error(ParseGridAxis("learnin-rate=1")), HasSubstr("did you mean --learning-rate?"));
  EXPECT_THAT(Error(ParseGridAxis("learning-rate=0.1,fast")), HasSubstr("--learning-rate=fast: "));
  EXPECT_THAT(Error(ParseGridAxis("batch-size=8,8")),
              HasSubstr("batch-size=8,8: has a value twice"));
  for (const char* text : {"schedulers=[cosine", "schedulers=cosine]", "schedulers=[[cosine]]"}) {
    EXPECT_THAT(Error(ParseGridAxis(text)), HasSubstr("has a bracket without its other")) << text;
  }
  for (const char* name : {"history-file", "checkpoint_dir", "resume", "save-model", "save-options",
                           "options", "dry-run", "report", "model-dir", "profile"}) {
    const bool word = std::string_view(name) == "resume" || std::string_view(name) == "dry-run";
    const std::string text = std::string(name) + "=" + (word ? "yes" : "a");
    EXPECT_THAT(Error(ParseGridAxis(text)), HasSubstr("sweep sets this itself")) << text;
  }
  EXPECT_THAT(Error(ParseGridAxis("model=list")), HasSubstr("sets no option of a run"));
}

const std::vector<std::string> kBase = {"--model=simplecnn", "--dataset=synthetic",
                                        "--learning-rate=1", "--save-model=x.npz"};

TEST(GridTest, EveryCombinationIsARun) {
  const auto grid = MakeGrid(
      kBase, {*ParseGridAxis("learning_rate=0.5,0.25"), *ParseGridAxis("batch-size=8,16,32")},
      "some/folder");
  ASSERT_TRUE(grid.ok()) << grid.status();
  ASSERT_EQ(grid->size(), 6u);
  for (int i = 0; i < 6; ++i) {
    const GridRun& run = (*grid)[size_t(i)];
    EXPECT_EQ(run.options.optimizer.learning_rate, i < 3 ? 0.5 : 0.25);
    EXPECT_EQ(run.options.training.batch, 8 << (i % 3));
  }
  const GridRun& second = (*grid)[1];
  EXPECT_EQ(second.name, "learning_rate=0.5,batch-size=16");
  EXPECT_THAT(second.values, ElementsAre("0.5", "16"));
  const std::string folder = "some/folder/" + second.name;
  EXPECT_THAT(second.own, ElementsAre("--history-file=" + folder + "/history.jsonl",
                                      "--save-model=" + folder + "/model.safetensors",
                                      "--checkpoint-dir=" + folder, "--resume=if-there"));
  EXPECT_EQ(second.options.output.model, "");  // a file of the options writes nothing there
  EXPECT_EQ(second.options.output.history, "");
  EXPECT_EQ(second.options.checkpoint.folder, "");
}

TEST(GridTest, EveryRunWritesIntoItsOwnFolder) {
  std::vector<std::string> base = {"--report=pages/run.html", "--tensorboard-dir=board/",
                                   "--model-dir=.",           "--tracer-output=/tmp/trace.json",
                                   "--profile=profile.csv",   "--best-of-file=tuned.txt"};
  base.insert(base.end(), kBase.begin(), kBase.end());
  const auto grid = MakeGrid(base, {*ParseGridAxis("random-seed=1,2")}, "f");
  ASSERT_TRUE(grid.ok()) << grid.status();
  for (const GridRun& run : *grid) {
    const std::string folder = "f/" + run.name;
    EXPECT_THAT(
        run.own,
        ElementsAre("--history-file=" + folder + "/history.jsonl",
                    "--save-model=" + folder + "/model.safetensors", "--checkpoint-dir=" + folder,
                    "--model-dir=" + folder, "--tracer-output=" + folder + "/trace.json",
                    "--profile=" + folder + "/profile.csv", "--report=" + folder + "/run.html",
                    "--tensorboard-dir=" + folder + "/board", "--resume=if-there"));
  }
  // The scheduler's own choice would be the current folder.
  EXPECT_THAT((*MakeGrid(kBase, {*ParseGridAxis("schedulers=model_checkpoint")}, "f"))[0].own,
              ::testing::Contains("--model-dir=f/schedulers=model_checkpoint"));
  EXPECT_EQ((*MakeGrid({"--profile=True", kBase[0], kBase[1]}, {}, "f"))[0].own.size(), 4u);
}

TEST(GridTest, TwoFilesOfOneNameAreRefused) {
  EXPECT_THAT(Error(MakeGrid({kBase[0], kBase[1], "--tracer-output=a/x.json", "--profile=b/x.json"},
                             {}, "f")),
              HasSubstr("run: --profile: f/run/x.json is written by --tracer-output, too"));
  EXPECT_THAT(Error(MakeGrid({kBase[0], kBase[1], "--tracer-output=log.txt"}, {}, "f")),
              HasSubstr("run: --tracer-output: f/run/log.txt is written by sweep itself, too"));
}

TEST(GridTest, WithoutAxesThereIsOneRun) {
  const auto grid = MakeGrid(kBase, {}, "f");
  ASSERT_TRUE(grid.ok()) << grid.status();
  ASSERT_EQ(grid->size(), 1u);
  EXPECT_EQ((*grid)[0].name, "run");
  EXPECT_EQ((*grid)[0].options.optimizer.learning_rate, 1);
}

TEST(GridTest, AnOldSpellingMaySetNothing) {
  std::vector<std::string> base = {"--enable-conv-gemm=false"};
  base.insert(base.end(), kBase.begin(), kBase.end());
  const auto grid = MakeGrid(base, {*ParseGridAxis("conv-variant=auto,direct")}, "f");
  ASSERT_TRUE(grid.ok()) << grid.status();
  EXPECT_EQ(grid->size(), 2u);
  EXPECT_THAT(Error(ParseGridAxis("enable-conv-gemm=false")), HasSubstr("sets no option of a run"));
  base[0] = "--model=list";
  EXPECT_THAT(Error(MakeGrid(base, {}, "f")), HasSubstr("sets no option of a run"));
}

TEST(GridTest, ANameIsOneFolder) {
  const auto grid = MakeGrid(kBase, {*ParseGridAxis("dataset-path=/data/$rank,..")}, "f");
  ASSERT_TRUE(grid.ok()) << grid.status();
  EXPECT_EQ((*grid)[0].name, "dataset-path=_data__rank");
  EXPECT_EQ((*grid)[1].name, "dataset-path=..");
}

TEST(GridTest, AGridThatCannotRunIsRefusedBeforeAnythingRuns) {
  EXPECT_THAT(
      Error(MakeGrid(
          kBase, {*ParseGridAxis("momentum=0.5"), *ParseGridAxis("optimizer-momentum=0.8")}, "f")),
      HasSubstr("--optimizer-momentum: is in the grid twice"));
  EXPECT_THAT(Error(MakeGrid(kBase, {*ParseGridAxis("schedulers=cosine,[cosine,one_cycle]")}, "f")),
              testing::AllOf(HasSubstr("schedulers=cosine,one_cycle: "), HasSubstr("both set")));
  EXPECT_THAT(Error(MakeGrid(kBase, {*ParseGridAxis("dataset-path=a/b,a_b")}, "f")),
              HasSubstr("dataset-path=a_b: two runs would have this folder"));
  EXPECT_THAT(
      Error(MakeGrid(kBase, {*ParseGridAxis("dataset-path=" + std::string(250, 'a'))}, "f")),
      HasSubstr("is too long for a folder's name"));
  GridAxis seeds = {.name = "random-seed"};
  for (int i = 0; i < 101; ++i) seeds.values.push_back(std::to_string(i));
  GridAxis sizes = {.name = "batch-size"};
  for (int i = 1; i <= 100; ++i) sizes.values.push_back(std::to_string(i));
  EXPECT_THAT(Error(MakeGrid(kBase, {seeds, sizes}, "f")),
              HasSubstr("the grid has more than 10000 runs"));
  seeds.values.pop_back();
  EXPECT_EQ(MakeGrid(kBase, {seeds, sizes}, "f")->size(), 10000u);
}

}  // namespace
}  // namespace dtnn
