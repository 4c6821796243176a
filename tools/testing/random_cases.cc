#include "tools/testing/random_cases.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tensor/text/str_cat.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn::testing {
namespace {

// For the handler of signals, which may only read memory that is there.
char current[400] = "";

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
struct sigaction before[std::size(kSignals)];

// Prints the case and returns to the instruction, which raises the signal again for the handler
// that was there before.
void PrintCase(int signal) {
  const char text[] = "a signal ended ";
  (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
  (void)!write(STDERR_FILENO, current, strlen(current));
  (void)!write(STDERR_FILENO, "\n", 1);
  const auto* found = std::find(std::begin(kSignals), std::end(kSignals), signal);
  sigaction(signal, &before[found - std::begin(kSignals)], nullptr);
}

void SetCurrent(std::string_view text) {
  const size_t size = std::min(text.size(), sizeof(current) - 1);
  std::copy_n(text.begin(), size, current);
  current[size] = '\0';
}

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace

RandomCase::RandomCase(uint64_t number)
    : number_(number), stream_(number, StreamId(RandomPurpose::kTest)), integers_(Flip()) {
  Name("");
}

RandomCase::~RandomCase() { SetCurrent(""); }

void RandomCase::Name(std::string_view name) {
  const std::string text = StrCat("random case ", number_, ": ", name);
  SetCurrent(text);
  trace_.reset();
  trace_.emplace(__FILE__, __LINE__,
                 StrCat(text, "; again: DTNN_RANDOM_FIRST=", number_, " DTNN_RANDOM_CASES=1"));
}

int64_t RandomCase::Between(int64_t low, int64_t high) {
  return low + int64_t(stream_.Below(drawn_++, uint32_t(high - low + 1)));
}

void RandomCase::SetThreads() { SetNumThreads(int(Between(1, 5))); }

Tensor RandomCase::Dense(DType dtype, const Shape& shape) {
  const uint64_t seed = uint64_t(Between(0, 1 << 30));
  const Tensor values =
      integers_ ? IntegerTensor(dtype, shape, seed) : RandomTensor(dtype, shape, seed);
  const Tensor tensor = FencedTensor(dtype, shape, RandomFence());
  std::memcpy(tensor.raw_data(), values.raw_data(), size_t(shape.NumElements()) * SizeOf(dtype));
  return tensor;
}

Tensor RandomCase::Operand(DType dtype, const Shape& shape, TensorFormat format) {
  const Tensor dense = Dense(dtype, shape);
  return Flip() ? dense : Pitched(dense, format, RandomFence());
}

FencedWorkspace RandomCase::Workspace(size_t bytes) {
  return FencedWorkspace(bytes, RandomFence());
}

RandomCases::RandomCases(int64_t count)
    : next_(FromEnvironment("DTNN_RANDOM_FIRST", 0)),
      end_(next_ + FromEnvironment("DTNN_RANDOM_CASES", uint64_t(count))) {
  struct sigaction action = {};
  action.sa_handler = PrintCase;
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &action, &before[i]);
}

RandomCases::~RandomCases() {
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before[i], nullptr);
}

RandomCase* RandomCases::Next() {
  current_.reset();
  if (next_ == end_ || ::testing::Test::HasFailure()) return nullptr;
  return &current_.emplace(next_++);
}

}  // namespace dtnn::testing
