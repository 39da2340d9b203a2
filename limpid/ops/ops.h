// Every function that can be applied to a Value.
#pragma once

#include "limpid/ops/activation.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/attention.h"
#include "limpid/ops/barrier.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/elementary.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/loss.h"
#include "limpid/ops/matmul.h"
#include "limpid/ops/norm.h"
#include "limpid/ops/quantized.h"
#include "limpid/ops/random.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"
#include "limpid/ops/softmax.h"
