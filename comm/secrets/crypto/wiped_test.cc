#include "comm/secrets/crypto/wiped.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <ostream>

#include "gtest/gtest.h"

namespace {

// The memory to look at when it is given back, and what was not zero in it then.
const void* watched = nullptr;
size_t watched_bytes = 0;
size_t bytes_left = 0;

void LookAt(const void* memory) {
  if (memory == nullptr || memory != watched) return;
  const volatile uint8_t* bytes = static_cast<const uint8_t*>(memory);
  for (size_t i = 0; i < watched_bytes; ++i) bytes_left += bytes[i] != 0;
  watched = nullptr;
}

}  // namespace

void* operator new(size_t size) {
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  LookAt(memory);
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept { operator delete(memory); }

namespace dtnn {
namespace {

alignas(64) uint8_t storage[64];

TEST(WipedTest, ASecretIsOverwrittenWhenItEnds) {
  std::array<uint8_t, 32> bytes;
  bytes.fill(0xa5);
  auto* secret = new (storage) Secret(bytes);
  EXPECT_TRUE(std::ranges::equal(secret->bytes(), bytes));
  EXPECT_EQ(std::count(storage, storage + sizeof(Secret), 0xa5), 32);
  secret->~Secret();
  // Read through volatile: the object has ended, the array has not.
  const volatile uint8_t* after = storage;
  for (size_t i = 0; i < sizeof(Secret); ++i) EXPECT_EQ(after[i], 0) << i;
}

// How many bytes are not zero when a vector of 100 numbers gives its memory back.
template <typename Vector>
size_t LeftBy(bool grow) {
  bytes_left = 0;
  {
    Vector vector(100, 0x5a5a5a5a);
    watched = vector.data();
    watched_bytes = 100 * sizeof(vector[0]);
    if (grow) vector.resize(1000);
  }
  EXPECT_EQ(watched, nullptr) << "the memory was not given back";
  return bytes_left;
}

TEST(WipedTest, AVectorsMemoryIsOverwrittenBeforeItIsGivenBack) {
  // The test sees what an ordinary vector leaves.
  EXPECT_EQ(LeftBy<std::vector<int>>(false), 400u);
  EXPECT_EQ(LeftBy<WipedVector<int>>(false), 0u);
  EXPECT_EQ(LeftBy<WipedVector<int>>(true), 0u);
}

TEST(WipedTest, SecretsCompare) {
  std::array<uint8_t, 32> bytes{};
  const Secret a(bytes);
  bytes[31] = 1;
  const Secret b(bytes);
  EXPECT_TRUE(a.Equals(a));
  EXPECT_FALSE(a.Equals(b));
}

template <typename T>
concept Printable = requires(std::ostream& stream, const T& value) {
  stream << value;
};

static_assert(Printable<int> && !Printable<Secret>, "a secret must not be printed");

}  // namespace
}  // namespace dtnn
