// How fast oneDNN (2.x or 3.x) computes a list of fp32 convolutions.
//
//   onednn_convolutions SHAPES [THREADS=1] [NAME_PREFIX=""]
//                       [DIRECTIONS=fwd,bwd_data,bwd_filter] [SECONDS=0.2]
//
// SHAPES has one convolution per line, '#' starts a comment:
//   mb ic ih iw oc kh kw sh sw ph pw groups repeat name [dh dw]
// Directions: forward with bias, backward data, backward filter without bias gradient.  Layouts:
//   any         the library chooses the activations' formats (input-output, in "format")
//   nhwc, nchw  both activation tensors are in it
//   winograd    as any, Winograd algorithm; 3x3 stride 1 only, and only where the library has it
// The filter is always in the format the library prefers; no reorder outside the primitive counts.
//
// One JSON line per measurement.  ms: median of at least 5 samples and SECONDS after a warm-up, a
// sample being enough calls for 1 ms; ms_min: the fastest.  Operands stay in cache from call to
// call.  gflops counts every filter tap, gflops_valid only those that meet the image and not its
// padding.  fma_peak: GFLOP/s the same threads reach with FMAs in registers before and after (the
// lower one); where it is well under its usual value, a neighbour disturbed the measurement.
//
// Not part of the build: bench/compare_convolutions.py compiles it, where oneDNN is installed
// (Debian's libdnnl-dev).
//
//   g++ -std=c++17 -O3 -march=native -fopenmp onednn_convolutions.cc -o onednn_convolutions -ldnnl
#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"

using dnnl::algorithm;
using dnnl::memory;
using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardFilter = dnnl::convolution_backward_weights;
using Tag = memory::format_tag;
constexpr auto kFloat = memory::data_type::f32;

struct Shape {
  int64_t mb, ic, ih, iw, oc, kh, kw, sh, sw, ph, pw, groups, repeat, dh = 1, dw = 1;
  std::string name;

  int64_t oh() const { return (ih + 2 * ph - dh * (kh - 1) - 1) / sh + 1; }
  int64_t ow() const { return (iw + 2 * pw - dw * (kw - 1) - 1) / sw + 1; }
  memory::dims src() const { return {mb, ic, ih, iw}; }
  memory::dims dst() const { return {mb, oc, oh(), ow()}; }
  memory::dims filter() const {
    if (groups == 1) return {oc, ic, kh, kw};
    return {groups, oc / groups, ic / groups, kh, kw};
  }
  double FlopsPerTap() const { return 2.0 * mb * oc * (ic / groups); }
  int64_t Taps() const { return oh() * kh * ow() * kw; }
  int64_t ValidTaps() const {
    return Valid(ih, oh(), kh, sh, ph, dh) * Valid(iw, ow(), kw, sw, pw, dw);
  }

  // Pairs of output position and filter tap, along one axis, that meet the image.
  static int64_t Valid(int64_t in, int64_t out, int64_t k, int64_t stride, int64_t pad,
                       int64_t dilation) {
    int64_t n = 0;
    for (int64_t o = 0; o < out; ++o)
      for (int64_t i = o * stride - pad, tap = 0; tap < k; ++tap, i += dilation)
        n += i >= 0 && i < in;
    return n;
  }
};

std::vector<Shape> ReadShapes(const std::string& path, const std::string& prefix) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  std::vector<Shape> shapes;
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line.substr(0, line.find('#')));
    if ((in >> std::ws).eof()) continue;
    Shape s;
    for (int64_t* field : {&s.mb, &s.ic, &s.ih, &s.iw, &s.oc, &s.kh, &s.kw, &s.sh, &s.sw, &s.ph,
                           &s.pw, &s.groups, &s.repeat})
      in >> *field;
    if (!(in >> s.name)) throw std::runtime_error(path + ": not 13 numbers and a name: " + line);
    if (!(in >> s.dh >> s.dw)) s.dh = s.dw = 1;
    if (s.name.compare(0, prefix.size(), prefix) == 0) shapes.push_back(s);
  }
  return shapes;
}

std::string FormatName(const memory::desc& desc, const memory::dims& dims) {
  if (desc == memory::desc(dims, kFloat, Tag::nhwc)) return "nhwc";
  return desc == memory::desc(dims, kFloat, Tag::nchw) ? "nchw" : "blocked";
}

// A convolution ready to run, and what the library chose for it.
struct Problem {
  dnnl::primitive primitive;
  std::unordered_map<int, memory> args;
  std::string impl, format;

  // `operands`: argument index and format; the input's activations first, the output's last.
  template <class PrimitiveDesc>
  Problem(const PrimitiveDesc& pd, const Shape& s, const dnnl::engine& engine,
          const std::vector<std::pair<int, memory::desc>>& operands)
      : primitive(pd), impl(pd.impl_info_str()) {
    format = FormatName(operands.front().second, s.src()) + "-" +
             FormatName(operands.back().second, s.dst());
    for (const auto& [arg, desc] : operands) {
      memory m(desc, engine);
      float* values = m.map_data<float>();  // ordinary numbers; what they are does not matter
      for (size_t i = 0, n = desc.get_size() / sizeof(float); i < n; ++i)
        values[i] = static_cast<float>((i * 2654435761u >> 8) % 1024) / 512 - 1;
      m.unmap_data(values);
      args.emplace(arg, m);
    }
  }
};

// The APIs differ in one thing: version 3 makes a primitive's descriptor in one step.
#if DNNL_VERSION_MAJOR >= 3
#define FORWARD_DESC(...) Forward::primitive_desc(engine, __VA_ARGS__)
#define BACKWARD_DESC(Op, ...) Op::primitive_desc(engine, __VA_ARGS__, fwd)
#else
#define FORWARD_DESC(...) Forward::primitive_desc(Forward::desc(__VA_ARGS__), engine)
#define BACKWARD_DESC(Op, ...) Op::primitive_desc(Op::desc(__VA_ARGS__), engine, fwd)
#endif

// Throws dnnl::error where the library has no such convolution.
Problem MakeProblem(const Shape& s, const std::string& direction, Tag tag, algorithm alg,
                    const dnnl::engine& engine) {
  const memory::desc src(s.src(), kFloat, tag), filter(s.filter(), kFloat, Tag::any),
      bias({s.oc}, kFloat, Tag::x), dst(s.dst(), kFloat, tag);
  const memory::dims stride{s.sh, s.sw}, dilation{s.dh - 1, s.dw - 1}, pad{s.ph, s.pw};
  const auto fwd = FORWARD_DESC(dnnl::prop_kind::forward_training, alg, src, filter, bias, dst,
                                stride, dilation, pad, pad);
  if (direction == "fwd")
    return {fwd,
            s,
            engine,
            {{DNNL_ARG_SRC, fwd.src_desc()},
             {DNNL_ARG_WEIGHTS, fwd.weights_desc()},
             {DNNL_ARG_BIAS, fwd.bias_desc()},
             {DNNL_ARG_DST, fwd.dst_desc()}}};
  if (direction == "bwd_data") {
    const auto pd = BACKWARD_DESC(BackwardData, alg, src, filter, dst, stride, dilation, pad, pad);
    return {pd,
            s,
            engine,
            {{DNNL_ARG_DIFF_SRC, pd.diff_src_desc()},
             {DNNL_ARG_WEIGHTS, pd.weights_desc()},
             {DNNL_ARG_DIFF_DST, pd.diff_dst_desc()}}};
  }
  if (direction != "bwd_filter") throw std::runtime_error("unknown direction: " + direction);
  const auto pd = BACKWARD_DESC(BackwardFilter, alg, src, filter, dst, stride, dilation, pad, pad);
  return {pd,
          s,
          engine,
          {{DNNL_ARG_SRC, pd.src_desc()},
           {DNNL_ARG_DIFF_WEIGHTS, pd.diff_weights_desc()},
           {DNNL_ARG_DIFF_DST, pd.diff_dst_desc()}}};
}

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds per call, sorted; `run(n)` makes n calls.
template <class Run>
std::vector<double> Time(double seconds, const Run& run) {
  int calls = 1;
  const auto sample = [&] {
    const double start = Seconds();
    run(calls);
    return (Seconds() - start) / calls;
  };
  double start = Seconds();
  for (int i = 0; i < 2 || Seconds() - start < seconds / 4; ++i)
    calls = std::clamp(static_cast<int>(1e-3 / sample()) + 1, 1, 1000);
  std::vector<double> samples;
  start = Seconds();
  while (samples.size() < 5 || Seconds() - start < seconds) samples.push_back(sample());
  std::sort(samples.begin(), samples.end());
  return samples;
}

// GFLOP/s of independent fused multiply-adds in registers, all threads, best of five bursts.
double FmaPeak(int threads) {
#ifdef __AVX512F__
  typedef float Vector __attribute__((vector_size(64)));
#else
  typedef float Vector __attribute__((vector_size(32)));
#endif
  constexpr int kChains = 12, kSteps = 200'000;
  double fastest = 1e9;
  for (int burst = 0; burst < 5; ++burst) {
    const double start = Seconds();
#pragma omp parallel num_threads(threads)
    {
      Vector sums[kChains] = {}, a = {};
      for (int i = 0; i < kSteps; ++i)
        for (auto& sum : sums) asm volatile("vfmadd231ps %1, %1, %0" : "+v"(sum) : "v"(a));
    }
    fastest = std::min(fastest, Seconds() - start);
  }
  return 2e-9 * sizeof(Vector) / sizeof(float) * kChains * kSteps * threads / fastest;
}

int main(int argc, char** argv) try {
  if (argc < 2)
    throw std::runtime_error("expected SHAPES [THREADS] [NAME_PREFIX] [DIRECTIONS] [SECONDS]");
  const int threads = argc > 2 ? std::stoi(argv[2]) : 1;
  const auto shapes = ReadShapes(argv[1], argc > 3 ? argv[3] : "");
  std::istringstream directions(argc > 4 ? argv[4] : "fwd,bwd_data,bwd_filter");
  const double seconds = argc > 5 ? std::stod(argv[5]) : 0.2;

  // OpenMP takes its number of threads from us, TBB from the processors we leave it.
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (int i = 0; i < threads; ++i) CPU_SET(i, &cpus);
  if (sched_setaffinity(0, sizeof(cpus), &cpus) != 0) throw std::runtime_error("bad THREADS");
  omp_set_num_threads(threads);

  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const auto& version = *dnnl_version();
  const struct {
    const char* name;
    Tag tag;
    bool winograd;
  } layouts[] = {{"any", Tag::any, false},
                 {"nhwc", Tag::nhwc, false},
                 {"nchw", Tag::nchw, false},
                 {"winograd", Tag::any, true}};
  for (std::string direction; std::getline(directions, direction, ',');)
    for (const Shape& s : shapes)
      for (const auto& [layout, tag, winograd] : layouts) {
        if (winograd && (s.groups > 1 || s.kh != 3 || s.kw != 3 || s.sh > 1 || s.sw > 1)) continue;
        const auto alg = winograd ? algorithm::convolution_winograd : algorithm::convolution_direct;
        try {
          const Problem p = MakeProblem(s, direction, tag, alg, engine);
          double peak = FmaPeak(threads);
          const auto times = Time(seconds, [&](int calls) {
            while (calls--) p.primitive.execute(stream, p.args);
            stream.wait();
          });
          peak = std::min(peak, FmaPeak(threads));
          const double median = times[times.size() / 2], rate = s.FlopsPerTap() / median * 1e-9;
          std::printf(
              "{\"library\":\"oneDNN %d.%d.%d\",\"threads\":%d,\"name\":\"%s\",\"repeat\":"
              "%d,\"direction\":\"%s\",\"layout\":\"%s\",\"format\":\"%s\",\"impl\":\"%s\","
              "\"ms\":%.5f,\"ms_min\":%.5f,\"gflops\":%.5g,\"gflops_valid\":%.5g,"
              "\"fma_peak\":%.1f}\n",
              version.major, version.minor, version.patch, threads, s.name.c_str(),
              static_cast<int>(s.repeat), direction.c_str(), layout, p.format.c_str(),
              p.impl.c_str(), median * 1e3, times[0] * 1e3, rate * s.Taps(), rate * s.ValidTaps(),
              peak);
          std::fflush(stdout);
        } catch (const dnnl::error& e) {
          if (winograd) continue;  // most libraries have none
          std::fprintf(stderr, "%s %s %s: %s\n", s.name.c_str(), direction.c_str(), layout,
                       e.what());
        }
      }
} catch (const std::exception& e) {
  std::fprintf(stderr, "onednn_convolutions: %s\n", e.what());
  return 1;
}
