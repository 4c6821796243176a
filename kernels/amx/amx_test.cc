#include "kernels/amx/amx.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "gtest/gtest.h"
#include "kernels/amx/tiles.h"

namespace dtnn {
namespace {

// First, since the permission is for good.
TEST(AmxTest, ASignalStackThatIsTooSmallIsNamedAsTheReason) {
  constexpr int kRefused = 0, kNotThere = 2;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    static std::array<char, 2048> small;  // the least that Linux takes without tiles
    stack_t stack = {};
    stack.ss_sp = small.data();
    stack.ss_size = small.size();
    if (sigaltstack(&stack, nullptr) != 0) _exit(kNotThere);
    const std::string_view message = AmxRefusal();
    if (message.find("signal stack") != std::string_view::npos) _exit(kRefused);
    _exit(message.find("this CPU does not") != std::string_view::npos ||
                  message.find("this build does not") != std::string_view::npos
              ? kNotThere
              : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNotThere) GTEST_SKIP() << "no tiles to refuse: " << AmxRefusal();
  EXPECT_EQ(WEXITSTATUS(status), kRefused);
}

TEST(AmxTest, IsThereOrSaysWhyNot) {
  const std::string_view refusal = AmxRefusal();
  EXPECT_EQ(AmxRefusal(), refusal);
  if (refusal.empty()) return;
  EXPECT_NE(refusal.find("AMX"), std::string_view::npos) << refusal;
}

TEST(AmxTest, ACpuWithTilesHasDotsToo) {
  const std::string_view refusal = DotRefusal();
  EXPECT_TRUE(refusal.empty() || refusal.find("AVX512-BF16") != std::string_view::npos) << refusal;
  if (AmxRefusal().empty()) {
    EXPECT_EQ(refusal, "");
  }
}

TEST(AmxTest, IsRestrictedAndBack) {
  const std::string_view refusal = AmxRefusal();
  const std::string_view dots = DotRefusal();
  RestrictProducts(ProductLevel::kDots);
  EXPECT_NE(AmxRefusal().find("DTNN_SIMD"), std::string_view::npos);
  EXPECT_EQ(DotRefusal(), dots);
  RestrictProducts(ProductLevel::kVectors);
  EXPECT_NE(AmxRefusal().find("DTNN_SIMD"), std::string_view::npos);
  EXPECT_NE(DotRefusal().find("DTNN_SIMD"), std::string_view::npos);
  RestrictProducts(ProductLevel::kTiles);
  EXPECT_EQ(AmxRefusal(), refusal);
  EXPECT_EQ(DotRefusal(), dots);
}

#ifdef DTNN_HAS_TILES
void UseTiles(int) {
  HardwareTiles tiles;
  tiles.Configure(ProductShapes(4));
  tiles.Zero<0>();
  tiles.Release();
}

TEST(AmxTest, TilesSurviveASignalWhoseHandlerUsesThemToo) {
  if (!AmxRefusal().empty()) GTEST_SKIP() << AmxRefusal();
  struct sigaction action = {}, before = {};
  action.sa_handler = &UseTiles;
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  std::array<float, 256> sums;
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = float(i);
  HardwareTiles tiles;
  tiles.Configure(ProductShapes(32));
  tiles.Load<0>(sums.data(), 64);
  ASSERT_EQ(raise(SIGUSR1), 0);
  std::array<float, 256> after = {};
  tiles.Store<0>(after.data(), 64);
  tiles.Release();
  EXPECT_EQ(after, sums);
  sigaction(SIGUSR1, &before, nullptr);
}
#endif

}  // namespace
}  // namespace dtnn
