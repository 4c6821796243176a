#include "kernels/int8/conv2d_product.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "kernels/int8/block_order.h"
#include "kernels/int8/image_rows.h"
#include "kernels/int8/packed_parameters.h"
#include "kernels/int8/pipeline.h"
#include "kernels/int8/product_division.h"
#include "kernels/int8/products.h"
#include "kernels/int8/write_back.h"
#include "kernels/workspace/scratch.h"
#include "tensor/rounding.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::int8 {
namespace {

// Panels that are so few are read again for each block of pixels, from the L2 cache: results are
// written, and addends read, where the last ones were. Vectors do not wait for it, tiles might.
constexpr int64_t kInnerPanelBytes = 256 << 10;
// Panels, counted over all groups, of one group.
struct Chunk {
  int64_t group, begin, end;
};

// What a task computes: images, rows of them, panels.
struct Piece {
  int64_t first, units, row, rows, panel, panel_end;
};

class Conv2dProduct : public Int8Conv2d {
 public:
  Conv2dProduct(const Int8Conv2dSpec& spec, Int8Level level)
      : spec_(spec), level_(level), kernel_(&KernelOf(level)), threads_(NumThreads()) {
    Conv2dSpec& conv = spec_.conv;
    rows_.emplace(conv, *kernel_);
    group_filters_ = conv.filters / conv.groups;
    panels_ = CeilDiv(group_filters_, kPanelFilters);
    panel_bytes_ = rows_->step_count() * rows_->depth() * kPanelFilters;
    direct_ = conv.kernel == Pair(1) && conv.stride == Pair(1) && conv.padding == Pair(0) &&
              conv.groups == 1 && kernel_->element_bytes == 1 &&
              rows_->step_count() * rows_->depth() == conv.channels;
    skips_padding_ = spec_.input.zero_point == 0;
    writes_ = kernel_->multiply_to != nullptr && spec_.output.has_value() &&
              group_filters_ % kPanelFilters == 0;
    divider_.emplace(conv, *rows_, *kernel_, direct_, skips_padding_);
    copy_bytes_ = divider_->CopyBytes();
    thread_bytes_ = Divide(nullptr).bytes;
  }

  size_t workspace_bytes() const override { return size_t(threads_) * thread_bytes_; }

  size_t kept_bytes() const override { return DivideKept(nullptr).second; }
  void Keep(std::byte* memory) override {
    arrays_ = DivideKept(memory).first;
    weights_ = memory;
  }

  absl::Status SetParameters(const Int8Conv2dParameters& parameters) override;
  absl::Status Forward(const Tensor& x, const Tensor& addend, const Tensor& y,
                       Workspace workspace) override;
  std::string Algorithm() const override { return std::string(Name(level_)); }

 private:
  struct Call {
    const uint8_t *x, *addend;
    std::byte* y;
    int64_t x_pitch, addend_pitch, y_pitch;  // elements, elements, bytes
    int64_t images;
    ProductDivision division;
  };

  // A thread's: copies of pixels, and behind them room for the sums of two blocks and for steps.
  struct Scratch {
    int32_t* sums;
    Step* steps;
    size_t bytes;
  };
  Scratch Divide(std::byte* memory) const {
    ScratchDivider divider(memory);
    divider.Take<std::byte>(copy_bytes_);
    auto* const sums = divider.Take<int32_t>(2 * kMostRows * kBlockFilters);
    Step* const steps = divider.Take<Step>(rows_->step_count());
    return {sums, steps, divider.bytes()};
  }
  // The arrays lie behind the weights. Second: bytes of all.
  std::pair<ResultArrays, size_t> DivideKept(std::byte* memory) const;
  void RunTask(const Call& call, int64_t task, std::byte* scratch) const;
  void RunCopied(const Call& call, int64_t group, const Piece& piece, std::byte* scratch) const;
  void RunOn(const Call& call, int64_t group, const Piece& piece, std::byte* scratch) const;
  void RunRows(const Call& call, int64_t group, const Piece& piece, std::byte* scratch) const;
  void RunInterleaved(const Call& call, int64_t group, const Piece& piece,
                      std::byte* scratch) const;
  void RunDirect(const Call& call, const Piece& piece, std::byte* scratch) const;
  // Calls use(chunk) for the panels of a piece, as many at once as all its pixels meet together.
  template <class Use>
  void ForEachChunk(int64_t group, const Piece& piece, const Use& use) const;
  // Blocks of these panels, with results from `first` on. `distance`: pixels from one result to the
  // next, 0 where some in between are thrown away.
  template <class P>
  void MultiplyPanels(const Call& call, const Chunk& chunk, int64_t first, int64_t distance,
                      Products* products, P* pipeline) const;
  // Results from `pixel` on, of the block's panels; without sums.
  ResultRows RowsAt(const Call& call, int64_t group, const Block& block, int64_t pixel,
                    int64_t pixels, int64_t distance) const;
  // The block's rows from `row` on are these.
  void Finish(const Call& call, int64_t group, const Block& block, int64_t row, int64_t pixel,
              int64_t pixels, int64_t distance = 1) const;

  Int8Conv2dSpec spec_;
  Int8Level level_;
  const ProductKernel* kernel_;
  const int threads_;
  std::optional<ImageRows> rows_;
  int64_t group_filters_, panels_;  // panels of a group
  int64_t panel_bytes_;
  bool direct_;         // pixels are read where they are
  bool skips_padding_;  // whose bytes are 0
  bool writes_;         // the kernel writes bytes, from registers
  std::optional<ProductDivider> divider_;
  int64_t copy_bytes_;
  size_t thread_bytes_;
  std::byte* weights_ = nullptr;
  ResultArrays arrays_;
};

std::pair<ResultArrays, size_t> Conv2dProduct::DivideKept(std::byte* memory) const {
  ScratchDivider divider(memory);
  const int64_t panels = spec_.conv.groups * panels_;
  divider.Take<std::byte>(panels * panel_bytes_);
  ResultArrays arrays;
  arrays.compensation = divider.Take<int32_t>(panels * kPanelFilters);
  arrays.multiplier = divider.Take<float>(panels * kPanelFilters);
  arrays.offset = divider.Take<float>(panels * kPanelFilters);
  return {arrays, divider.bytes()};
}

absl::Status Conv2dProduct::SetParameters(const Int8Conv2dParameters& parameters) {
  const Conv2dSpec& conv = spec_.conv;
  std::memset(weights_, 0, kept_bytes());
  const int64_t channels = conv.channels / conv.groups;
  QuantizedFilter quantized;
  for (int64_t filter = 0; filter < conv.filters; ++filter) {
    DTNN_RETURN_IF_ERROR(QuantizeFilter(conv, parameters, filter, &quantized));
    const int64_t in_group = filter % group_filters_;
    const int64_t panel = filter / group_filters_ * panels_ + in_group / kPanelFilters;
    const int64_t lane = in_group % kPanelFilters;
    DTNN_RETURN_IF_ERROR(
        arrays_.Set(spec_, parameters, filter, quantized, panel * kPanelFilters + lane));
    for (size_t i = 0; i < quantized.weights.size(); ++i) {
      const auto [step, byte] = rows_->PlaceOf(int64_t(i) / channels, int64_t(i) % channels);
      std::byte* const to =
          weights_ + panel * panel_bytes_ + step * rows_->depth() * kPanelFilters +
          (byte / kQuadBytes * kPanelFilters + lane) * kQuadBytes + byte % kQuadBytes;
      if (kernel_->element_bytes == 1) {
        *to = std::byte(quantized.weights[i]);
      } else {
        const int16_t wide = quantized.weights[i];
        std::memcpy(to, &wide, sizeof(wide));
      }
    }
  }
  return absl::OkStatus();
}

template <class Use>
void Conv2dProduct::ForEachChunk(int64_t group, const Piece& piece, const Use& use) const {
  const int64_t first = group * panels_;
  const bool all =
      kernel_->fewer_rows && (piece.panel_end - piece.panel) * panel_bytes_ <= kInnerPanelBytes;
  const int64_t step = all ? piece.panel_end - piece.panel : kPanels;
  for (int64_t panel = piece.panel; panel < piece.panel_end; panel += step) {
    use(Chunk{group, first + panel, first + std::min(panel + step, piece.panel_end)});
  }
}

template <class P>
void Conv2dProduct::MultiplyPanels(const Call& call, const Chunk& chunk, int64_t first,
                                   int64_t distance, Products* products, P* pipeline) const {
  products->panel_bytes = panel_bytes_;
  for (int64_t panel = chunk.begin; panel < chunk.end; panel += kPanels) {
    products->panels = weights_ + panel * panel_bytes_;
    products->panel_count = int(std::min<int64_t>(kPanels, chunk.end - panel));
    if (writes_ && distance > 0) {
      const Block block = {.first_panel = panel, .panel_count = products->panel_count};
      kernel_->multiply_to(*products, arrays_.Rule(spec_, panel * kPanelFilters),
                           RowsAt(call, chunk.group, block, first, products->rows, distance));
    } else {
      pipeline->Multiply(*products, panel, first);
    }
  }
}

ResultRows Conv2dProduct::RowsAt(const Call& call, int64_t group, const Block& block, int64_t pixel,
                                 int64_t pixels, int64_t distance) const {
  const int64_t in_group = (block.first_panel - group * panels_) * kPanelFilters;
  const int64_t filter = group * group_filters_ + in_group;
  const uint8_t* const addend =
      call.addend == nullptr ? nullptr : call.addend + pixel * call.addend_pitch + filter;
  return {.addend = addend,
          .addend_pitch = call.addend_pitch * distance,
          .results = call.y + pixel * call.y_pitch + filter * (spec_.output ? 1 : 4),
          .results_pitch = call.y_pitch * distance,
          .rows = pixels,
          .filters = std::min(block.panel_count * kPanelFilters, group_filters_ - in_group)};
}

void Conv2dProduct::Finish(const Call& call, int64_t group, const Block& block, int64_t row,
                           int64_t pixel, int64_t pixels, int64_t distance) const {
  ResultRows rows = RowsAt(call, group, block, pixel, pixels, distance);
  rows.sums = block.sums + row * kBlockFilters;
  rows.sums_pitch = kBlockFilters;
  WriteBack(arrays_.Rule(spec_, block.first_panel * kPanelFilters), rows);
}

void Conv2dProduct::RunDirect(const Call& call, const Piece& piece, std::byte* scratch) const {
  const Scratch own = Divide(scratch);
  const int64_t channels = spec_.conv.channels, rows = kernel_->rows;
  // A block reads no pixel that is not there.
  const int64_t whole = kernel_->fewer_rows ? piece.units : piece.units / rows * rows;
  const uint8_t* const pixels = call.x + piece.first * call.x_pitch;
  for (int64_t i = whole; i < piece.units; ++i) {
    std::memcpy(scratch + (i - whole) * channels, pixels + i * call.x_pitch, size_t(channels));
  }
  const auto finish = [&](const Block& block) {
    Finish(call, /*group=*/0, block, 0, block.first, block.rows);
  };
  Pipeline pipeline(*kernel_, own.sums, finish);
  Products p = {.steps = own.steps, .depth = rows_->depth()};
  p.step_count = rows_->Steps(1, 1, /*interleaved=*/false, rows_->AllTaps(), own.steps);
  ForEachChunk(/*group=*/0, piece, [&](const Chunk& chunk) {
    for (int64_t i = 0; i < piece.units; i += p.rows) {
      const bool copied = i == whole;
      p.rows = int(NextRows(*kernel_, piece.units - i));
      p.pixels = copied ? scratch : reinterpret_cast<const std::byte*>(pixels + i * call.x_pitch);
      p.pixel_step = copied ? channels : call.x_pitch;
      MultiplyPanels(call, chunk, piece.first + i, /*distance=*/1, &p, &pipeline);
    }
  });
}

void Conv2dProduct::RunCopied(const Call& call, int64_t group, const Piece& piece,
                              std::byte* scratch) const {
  const Conv2dSpec& conv = spec_.conv;
  const BlockOrder order = call.division.order;
  rows_->Copy(call.x + piece.first * conv.height * conv.width * call.x_pitch, call.x_pitch,
              piece.units, group * (conv.channels / conv.groups), piece.row, piece.rows,
              uint8_t(spec_.input.zero_point), order == BlockOrder::kInterleaved, scratch);
  switch (order) {
    case BlockOrder::kRunOn:
      return RunOn(call, group, piece, scratch);
    case BlockOrder::kRows:
      return RunRows(call, group, piece, scratch);
    case BlockOrder::kInterleaved:
      return RunInterleaved(call, group, piece, scratch);
  }
}

void Conv2dProduct::RunOn(const Call& call, int64_t group, const Piece& piece,
                          std::byte* scratch) const {
  const Conv2dSpec& conv = spec_.conv;
  const Scratch own = Divide(scratch);
  const int64_t pitch = rows_->pitch(), width = conv.out_width(), height = conv.out_height();
  const int64_t image_rows = rows_->PhaseRows(piece.rows);
  // Results of an image with those thrown away; of all, where blocks over the ends of images are
  // fewer than those that begin anew with each.
  const int64_t whole = image_rows * pitch, image = piece.rows * pitch - (pitch - width);
  const bool anew = RoundUp(image, int64_t{kernel_->rows}) <= whole;
  const int64_t spans = anew ? piece.units : 1;
  const int64_t results = anew ? image : (piece.units - 1) * whole + image;
  // Calls use(first row, pixel, pixels) for what the block from result `first` on has of each row
  // of a map.
  const auto for_each_row = [&](int64_t first, const auto& use) {
    const int64_t begin = anew ? first / whole * whole : 0;
    const int64_t end = std::min<int64_t>(begin + results, first + kernel_->rows);
    for (int64_t at = first, next = 0; at < end; at = next) {
      const int64_t row = at / pitch, x = at % pitch, of_image = row / image_rows;
      next = std::min(end, (row + 1) * pitch);
      const int64_t y = row - of_image * image_rows;
      if (x >= width || y >= piece.rows) continue;
      use(at - first, ((piece.first + of_image) * height + piece.row + y) * width + x,
          std::min(next - at, width - x));
    }
  };
  const auto finish = [&](const Block& block) {
    for_each_row(block.first, [&](int64_t row, int64_t pixel, int64_t pixels) {
      Finish(call, group, block, row, pixel, pixels);
    });
  };
  Pipeline pipeline(*kernel_, own.sums, finish);
  Products p = {.pixel_step = rows_->pixel_step(), .steps = own.steps, .depth = rows_->depth()};
  p.step_count =
      rows_->Steps(piece.units, piece.rows, /*interleaved=*/false, rows_->AllTaps(), own.steps);
  ForEachChunk(group, piece, [&](const Chunk& chunk) {
    for (int64_t span = 0; span < spans; ++span) {
      for (int64_t at = 0; at < results; at += kernel_->rows) {
        const int64_t first = span * whole + at;
        bool any = false;
        for_each_row(first, [&](int64_t, int64_t, int64_t) { any = true; });
        if (!any) continue;
        p.rows = kernel_->rows;
        p.pixels = scratch + first * p.pixel_step;
        MultiplyPanels(call, chunk, first, /*distance=*/0, &p, &pipeline);
      }
    }
  });
}

void Conv2dProduct::RunRows(const Call& call, int64_t group, const Piece& piece,
                            std::byte* scratch) const {
  const Conv2dSpec& conv = spec_.conv;
  const Scratch own = Divide(scratch);
  const int64_t width = conv.out_width(), height = conv.out_height();
  const auto finish = [&](const Block& block) {
    Finish(call, group, block, 0, block.first, block.rows);
  };
  Pipeline pipeline(*kernel_, own.sums, finish);
  Products p = {.pixel_step = rows_->pixel_step(), .steps = own.steps, .depth = rows_->depth()};
  UsedSteps used(*rows_, piece.units, piece.rows, /*interleaved=*/false, skips_padding_, own.steps);
  ForEachChunk(group, piece, [&](const Chunk& chunk) {
    for (int64_t i = 0; i < piece.units * piece.rows; ++i) {
      const int64_t image = i / piece.rows, y = i % piece.rows;
      p.step_count = used.CountOf(piece.row + y, std::nullopt);
      const int64_t row = image * rows_->PhaseRows(piece.rows) + y;
      const std::byte* const pixels = scratch + row * rows_->pitch() * p.pixel_step;
      for (int64_t x = 0; x < width; x += p.rows) {
        p.rows = int(NextRows(*kernel_, width - x));
        p.pixels = pixels + x * p.pixel_step;
        MultiplyPanels(call, chunk, ((piece.first + image) * height + piece.row + y) * width + x,
                       /*distance=*/1, &p, &pipeline);
      }
    }
  });
}

void Conv2dProduct::RunInterleaved(const Call& call, int64_t group, const Piece& piece,
                                   std::byte* scratch) const {
  const Scratch own = Divide(scratch);
  const int64_t width = spec_.conv.out_width(), map = spec_.conv.out_height() * width;
  const auto finish = [&](const Block& block) {
    Finish(call, group, block, 0, block.first, block.rows, map);
  };
  Pipeline pipeline(*kernel_, own.sums, finish);
  Products p = {.pixel_step = rows_->pixel_bytes(), .steps = own.steps, .depth = rows_->depth()};
  UsedSteps used(*rows_, piece.units, piece.rows, /*interleaved=*/true, skips_padding_, own.steps);
  ForEachChunk(group, piece, [&](const Chunk& chunk) {
    for (int64_t place = 0; place < piece.rows * width; ++place) {
      const int64_t y = place / width, x = place % width;
      p.step_count = used.CountOf(piece.row + y, x);
      const std::byte* const pixels =
          scratch + (y * rows_->pitch() + x) * rows_->pixel_step() * piece.units;
      for (int64_t image = 0; image < piece.units; image += p.rows) {
        p.rows = int(NextRows(*kernel_, piece.units - image));
        p.pixels = pixels + image * p.pixel_step;
        MultiplyPanels(call, chunk, (piece.first + image) * map + piece.row * width + place, map,
                       &p, &pipeline);
      }
    }
  });
}

void Conv2dProduct::RunTask(const Call& call, int64_t task, std::byte* scratch) const {
  const ProductDivision& d = call.division;
  const Conv2dSpec& conv = spec_.conv;
  const int64_t units = direct_ ? call.images * conv.height * conv.width : call.images;
  Piece piece;
  piece.panel = task % d.panel_tasks * d.panels;
  piece.panel_end = std::min(piece.panel + d.panels, panels_);
  task /= d.panel_tasks;
  piece.row = task % d.row_tasks * d.rows;
  piece.rows = std::min(d.rows, conv.out_height() - piece.row);
  task /= d.row_tasks;
  piece.first = task % d.unit_tasks * d.units;
  piece.units = std::min(d.units, units - piece.first);
  if (direct_) {
    RunDirect(call, piece, scratch);
  } else {
    RunCopied(call, task / d.unit_tasks, piece, scratch);
  }
}

absl::Status Conv2dProduct::Forward(const Tensor& x, const Tensor& addend, const Tensor& y,
                                    Workspace workspace) {
  DTNN_RETURN_IF_ERROR(CheckOperands(spec_, x, addend, y, workspace, workspace_bytes()));
  const bool add = spec_.conv.epilogue.add;
  const Call call = {.x = x.data<uint8_t>(),
                     .addend = add ? addend.data<uint8_t>() : nullptr,
                     .y = y.raw_data(),
                     .x_pitch = x.PixelPitch(),
                     .addend_pitch = add ? addend.PixelPitch() : 0,
                     .y_pitch = y.PixelPitch() * int64_t(SizeOf(y.dtype())),
                     .images = x.shape()[0],
                     .division = divider_->DivisionOf(x.shape()[0], threads_)};
  ParallelForWithScratch(spec_.conv.groups * call.division.tasks(), 1, threads_,
                         [&](int thread, int64_t begin, int64_t end) {
                           kernel_->begin(rows_->depth());
                           for (int64_t task = begin; task < end; ++task) {
                             RunTask(call, task, workspace.data() + size_t(thread) * thread_bytes_);
                           }
                           kernel_->end();
                         });
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Int8Conv2d> CreateConv2dProduct(const Int8Conv2dSpec& spec, Int8Level level) {
  return std::make_unique<Conv2dProduct>(spec, level);
}

}  // namespace dtnn::int8
