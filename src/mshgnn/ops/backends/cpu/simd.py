"""A SIMD register as a numba type, so that the kernels say which numbers travel together.

LLVM vectorises plain loops for 256 bits and keeps no accumulators in registers across array writes; with an explicit
vector type it does both, on any processor (wider types are split where the hardware is narrower). Every function here
becomes one or a few instructions. Offsets count elements from the start of a C-contiguous float32 array and are not
checked: callers have done so.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending
from numba.core import cgutils, types
from numba.extending import models, overload, register_model

intrinsic: Any = extending.intrinsic  # numba calls the result with one argument less than is written

MAGIC = 12582912.0  # 1.5 * 2^23: adding it rounds a float32 to an integer, left in the low bits


class Lanes(types.Type):
    """``count`` float32 numbers in one register."""

    def __init__(self, count: int) -> None:
        super().__init__(name=f"Lanes({count})")
        self.count = count


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, lanes) -> None:
        super().__init__(manager, lanes, ir.VectorType(ir.FloatType(), lanes.count))


def _address(context, builder, array_type, array, offset, pointee):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [offset]), pointee.as_pointer())


def _repeat(builder, scalar, count):
    vector = ir.VectorType(scalar.type, count)
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), count), None))


def _shuffle(builder, left, right, places):
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(places)), places)
    return builder.shuffle_vector(left, right, mask)


def _call(builder, name, args):
    """The LLVM function ``llvm.<name>`` on whole registers."""
    vector = args[0].type
    signature = ir.FunctionType(vector, [vector] * len(args))
    full_name = f"llvm.{name}.v{vector.count}f32"
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, full_name), args)


def _bits(builder, value):
    return builder.bitcast(value, ir.VectorType(ir.IntType(32), value.type.count))


@intrinsic(prefer_literal=True)
def zeros(typingctx, count):
    """Registers of ``count`` lanes begin here; the count must be a compile-time constant."""
    lanes = Lanes(count.literal_value)

    def emit(context, builder, signature, args):
        return ir.Constant(context.get_value_type(signature.return_type), None)

    return lanes(count), emit


@intrinsic
def load(typingctx, array, offset, like):
    """As many elements from ``offset`` on as ``like`` has lanes."""

    def emit(context, builder, signature, args):
        vector = context.get_value_type(signature.return_type)
        pointer = _address(context, builder, signature.args[0], args[0], args[1], vector)
        return builder.load(pointer, align=4)

    return like(array, types.intp, like), emit


@intrinsic
def store(typingctx, array, offset, value):
    """Write all lanes from ``offset`` on."""

    def emit(context, builder, signature, args):
        pointer = _address(context, builder, signature.args[0], args[0], args[1], args[2].type)
        builder.store(args[2], pointer, align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), emit


@intrinsic
def splat(typingctx, array, offset, like):
    """The one element at ``offset`` in every lane."""

    def emit(context, builder, signature, args):
        pointer = _address(context, builder, signature.args[0], args[0], args[1], ir.FloatType())
        return _repeat(builder, builder.load(pointer, align=4), signature.return_type.count)

    return like(array, types.intp, like), emit


@intrinsic
def peek(typingctx, array, offset):
    """One element; unlike ``array[offset]`` it knows no negative offsets, which would turn loops into gathers."""

    def emit(context, builder, signature, args):
        element = context.get_value_type(signature.return_type)
        return builder.load(_address(context, builder, signature.args[0], args[0], args[1], element))

    return array.dtype(array, types.intp), emit


@intrinsic
def poke(typingctx, array, offset, value):
    """Write one element."""

    def emit(context, builder, signature, args):
        builder.store(args[2], _address(context, builder, signature.args[0], args[0], args[1], args[2].type))
        return context.get_dummy_value()

    return types.void(array, types.intp, array.dtype), emit


@intrinsic
def prefetch(typingctx, array, offset):
    """Ask for the cache line of an element that will be read soon."""

    def emit(context, builder, signature, args):
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        pointer = _address(context, builder, signature.args[0], args[0], args[1], ir.IntType(8))
        function = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        read_near_data = [ir.Constant(number, value) for value in (0, 3, 1)]
        builder.call(
            cgutils.get_or_insert_function(builder.module, function, "llvm.prefetch.p0"), [pointer, *read_near_data]
        )
        return context.get_dummy_value()

    return types.void(array, types.intp), emit


@intrinsic
def fill(typingctx, value, like):
    """One number in every lane."""

    def emit(context, builder, signature, args):
        return _repeat(builder, args[0], signature.return_type.count)

    return like(types.float32, like), emit


@intrinsic
def fma(typingctx, a, b, c):
    """``a * b + c`` with one rounding."""

    def emit(context, builder, signature, args):
        return _call(builder, "fma", args)

    return a(a, a, a), emit


def _binary(instruction):
    @intrinsic
    def operation(typingctx, a, b):
        def emit(context, builder, signature, args):
            return getattr(builder, instruction)(args[0], args[1])

        return a(a, a), emit

    return operation


_add, _subtract, _multiply = _binary("fadd"), _binary("fsub"), _binary("fmul")


@overload(operator.add)
def _overload_add(a, b):
    if isinstance(a, Lanes) and a == b:
        return lambda a, b: _add(a, b)
    return None


@overload(operator.sub)
def _overload_subtract(a, b):
    if isinstance(a, Lanes) and a == b:
        return lambda a, b: _subtract(a, b)
    return None


@overload(operator.mul)
def _overload_multiply(a, b):
    if isinstance(a, Lanes) and a == b:
        return lambda a, b: _multiply(a, b)
    return None


@intrinsic
def total(typingctx, a):
    """The sum of all lanes, halves added to halves: the same order always."""

    def emit(context, builder, signature, args):
        value = args[0]
        while value.type.count > 1:
            half = value.type.count // 2
            low = _shuffle(builder, value, value, list(range(half)))
            high = _shuffle(builder, value, value, list(range(half, 2 * half)))
            value = builder.fadd(low, high)
        return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))

    return types.float32(a), emit


@intrinsic
def any_beyond(typingctx, a, limit):
    """Is any ``|lane| > limit``?"""

    def emit(context, builder, signature, args):
        value, bound = args
        count = value.type.count
        size = _call(builder, "fabs", [value])
        beyond = builder.fcmp_ordered(">", size, _repeat(builder, bound, count))
        packed = builder.bitcast(beyond, ir.IntType(count))
        return builder.icmp_unsigned("!=", packed, ir.Constant(ir.IntType(count), 0))

    return types.boolean(a, types.float32), emit


@intrinsic
def where_odd(typingctx, integer, odd, even):
    """``odd`` in the lanes where ``integer`` (a number plus ``MAGIC``) is odd, ``even`` in the others."""

    def emit(context, builder, signature, args):
        bits = _bits(builder, args[0])
        mask = builder.trunc(bits, ir.VectorType(ir.IntType(1), args[0].type.count))
        return builder.select(mask, args[1], args[2])

    return odd(integer, odd, even), emit


@intrinsic
def negate_where_two(typingctx, value, integer):
    """``-value`` in the lanes where ``integer`` (a number plus ``MAGIC``) has the bit of two set."""

    def emit(context, builder, signature, args):
        bits = _bits(builder, args[1])
        two = ir.Constant(bits.type, [2] * bits.type.count)
        sign = builder.shl(builder.and_(bits, two), ir.Constant(bits.type, [30] * bits.type.count))
        return builder.bitcast(builder.xor(_bits(builder, args[0]), sign), args[0].type)

    return value(value, integer), emit


@intrinsic
def transpose(typingctx, source, source_offset, source_stride, target, target_offset, target_stride, like):
    """Copy a square block of ``lanes x lanes`` elements, rows to columns."""

    def emit(context, builder, signature, args):
        source, source_offset, source_stride, target, target_offset, target_stride, like = args
        count = like.type.count
        rows = []
        for i in range(count):
            offset = builder.add(source_offset, builder.mul(source_stride, ir.Constant(source_stride.type, i)))
            pointer = _address(context, builder, signature.args[0], source, offset, like.type)
            rows.append(builder.load(pointer, align=4))
        half = 1
        while half < count:
            for i in range(count):
                if i & half:
                    continue
                a, b = rows[i], rows[i + half]
                low = [lane if not lane & half else count + lane - half for lane in range(count)]
                high = [lane + half if not lane & half else count + lane for lane in range(count)]
                rows[i], rows[i + half] = _shuffle(builder, a, b, low), _shuffle(builder, a, b, high)
            half *= 2
        for i, row in enumerate(rows):
            offset = builder.add(target_offset, builder.mul(target_stride, ir.Constant(target_stride.type, i)))
            pointer = _address(context, builder, signature.args[3], target, offset, like.type)
            builder.store(row, pointer, align=4)
        return context.get_dummy_value()

    index = types.intp
    return types.void(source, index, index, target, index, index, like), emit
