#include "kernels/best_of/decisions.h"

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/simd/simd_target.h"
#include "tensor/threads/parallel_for.h"
#include "tensor/threads/processor_name.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

constexpr char kLine[] =
    "conv2d/forward/n64h8w8c64_k64r3s3p1x1_nhwc_f32_bias/t2/AVX3 winograd gemm=812.400 "
    "direct=- winograd=401.200\n";

BestOfKey Key() {
  return {.operation = "conv2d",
          .direction = "forward",
          .problem = "n64h8w8c64_k64r3s3p1x1_nhwc_f32_bias",
          .threads = 2,
          .machine = "AVX3"};
}

TEST(DecisionsTest, ALineHoldsADecision) {
  const auto decisions = Decisions::Parse(absl::StrCat("# a title\n\n", kLine), "test");
  ASSERT_TRUE(decisions.ok()) << decisions.status();
  ASSERT_EQ(decisions->all().size(), 1u);
  const Decision* decision = decisions->Find(Key());
  ASSERT_NE(decision, nullptr);
  EXPECT_EQ(decision->chosen, "winograd");
  ASSERT_EQ(decision->candidates.size(), 3u);
  EXPECT_EQ(decision->candidates[0].name, "gemm");
  EXPECT_DOUBLE_EQ(*decision->candidates[0].microseconds, 812.4);
  EXPECT_FALSE(decision->candidates[1].microseconds.has_value());
  EXPECT_THAT(decisions->ToString(), HasSubstr(absl::StrCat("\n", kLine)));
}

TEST(DecisionsTest, WhateverTheAnswerDependsOnIsPartOfTheKey) {
  const auto decisions = Decisions::Parse(kLine, "test");
  const auto found = [&](auto change) {
    BestOfKey key = Key();
    change(key);
    return decisions->Find(key) != nullptr;
  };
  EXPECT_TRUE(found([](BestOfKey&) {}));
  EXPECT_FALSE(found([](BestOfKey& key) { key.operation = "gemm"; }));
  EXPECT_FALSE(found([](BestOfKey& key) { key.direction = "backward_data"; }));
  EXPECT_FALSE(found([](BestOfKey& key) { key.problem = "n1"; }));
  EXPECT_FALSE(found([](BestOfKey& key) { key.threads = 1; }));
  EXPECT_FALSE(found([](BestOfKey& key) { key.machine = "AVX2"; }));
  const BestOfKey here = BestOfKey::Here("conv2d", "forward", "n1");
  EXPECT_EQ(here.ToString(), absl::StrCat("conv2d/forward/n1/t", NumThreads(), "/", SimdTarget(),
                                          "@", ProcessorModel()));
}

TEST(DecisionsTest, ThoseOfOtherMachinesAndThreadsAreNotHere) {
  const BestOfKey here = BestOfKey::Here("conv2d", "forward", "n1");
  BestOfKey machine = here, threads = here;
  machine.machine += "x";
  ++threads.threads;
  Decisions decisions;
  for (const BestOfKey& key : {machine, here, threads}) {
    decisions.Add(key, {.chosen = "a", .candidates = {{"a", 1}}});
  }
  EXPECT_EQ(decisions.Here().all().size(), 1u);
  EXPECT_NE(decisions.Here().Find(here), nullptr);
  EXPECT_EQ(Decisions::Parse(decisions.ToString(), "test")->all().size(), 3u);
  BestOfKey card = machine;  // which card is there, its key says
  card.machine = "gpu:NVIDIA H100";
  decisions.Add(card, {.chosen = "a", .candidates = {{"a", 1}}});
  EXPECT_EQ(decisions.Here().all().size(), 2u);
}

TEST(DecisionsTest, TheFirstDecisionStays) {
  Decisions decisions;
  decisions.Add(Key(), {.chosen = "a", .candidates = {{"a", 1}}});
  EXPECT_EQ(decisions.Add(Key(), {.chosen = "b", .candidates = {{"b", 1}}}).chosen, "a");
}

TEST(DecisionsTest, FilesComeBack) {
  const std::string path = absl::StrCat(::testing::TempDir(), "decisions.txt");
  Decisions decisions = *Decisions::Parse(kLine, "test");
  BestOfKey other = Key();
  other.machine = "AVX2";
  decisions.Add(other, {.chosen = "i2c", .candidates = {{"i2c", 0.0004}, {"gemm", 1e11}}});
  for (int i = 0; i < 2; ++i) {  // the second replaces the first
    ASSERT_EQ(decisions.Save(path), absl::OkStatus());
    const auto again = Decisions::Load(path);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->ToString(), decisions.ToString());
    decisions = *again;
  }
  EXPECT_TRUE(absl::IsNotFound(Decisions::Load(path + ".none").status()));
  EXPECT_FALSE(decisions.Save("/no/such/folder/decisions.txt").ok());
}

// The message about a text.
std::string Refusal(const std::string& text) {
  const auto decisions = Decisions::Parse(text, "best.txt");
  EXPECT_EQ(decisions.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(decisions.status().message());
}

TEST(DecisionsTest, DamagedLinesAreNamed) {
  EXPECT_THAT(Refusal("#Paraver (01/01/26 at 10:00):5\n"), HasSubstr("line 1"));
  EXPECT_THAT(Refusal(absl::StrCat("# t\n", kLine, "x\n")),
              HasSubstr("best.txt: line 3: is \"x\", expected KEY CHOICE"));
  EXPECT_THAT(Refusal(absl::StrCat(kLine, kLine)), HasSubstr("best.txt: line 2: the key conv2d/"));
  EXPECT_THAT(Refusal("a/b/c/t1/d x y=1\n"), HasSubstr("line 1: the choice is \"x\""));
  EXPECT_THAT(Refusal("a/b/c/t1/d x x=1 x=2"), HasSubstr("candidate x appears twice"));
  for (const std::string key :
       {"a", "a/b/c/t1", "a/b/c/t1/d/e", "a/b/c/1/d", "a/b/c/t0/d", "a/b/c/t-1/d", "a/b/c/t/d",
        "a/b/c/t1x/d", "a/b//t1/d", "a/b/c/t99999999999999999999/d", "a/b/\x01/t1/d", "a/b/c=/t1/d",
        "a/b#/c/t1/d", "a/b/c/t1048577/d"}) {
    EXPECT_THAT(Refusal(key + " x x=1"), HasSubstr("line 1: the key is \"")) << key;
  }
  for (const std::string time : {"", "=", "=1", "x", "x=1=2", "x =1"}) {
    EXPECT_THAT(Refusal("a/b/c/t1/d x " + time), HasSubstr("expected NAME=MICROSECONDS")) << time;
  }
  for (const std::string time : {"", "-1", "nan", "inf", "1.001e12", "1x", "0x1", "--", " "}) {
    const std::string message = Refusal("a/b/c/t1/d x x=" + time);
    EXPECT_THAT(message, HasSubstr("best.txt: line 1: ")) << time;
  }
  // Bytes of other files, and ends that are cut off.
  EXPECT_THAT(Refusal(std::string("PK\x03\x04\0\0", 6)), HasSubstr("best.txt: line 1: "));
  const std::string line(kLine);
  for (const size_t length : {10, 60, 70}) EXPECT_NE(Refusal(line.substr(0, length)), "");
}

TEST(DecisionsTest, FilesThatAreFarTooLargeAreRefused) {
  const std::string path = absl::StrCat(::testing::TempDir(), "large.txt");
  const std::string most = "# " + std::string((size_t{16} << 20) - 2, 'a');  // one comment
  std::ofstream(path) << most << "a";
  EXPECT_FALSE(Decisions::Load(path).ok());
  std::ofstream(path) << most;
  EXPECT_TRUE(Decisions::Load(path).ok());
}

TEST(DecisionsTest, ThreadsAndTimesReachTheirLimits) {
  EXPECT_EQ(Decisions::Parse("a/b/c/t1048576/d x x=1e12\n", "best.txt").status(), absl::OkStatus());
}

}  // namespace
}  // namespace dtnn
